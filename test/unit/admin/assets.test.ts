import { describe, expect, it } from 'vitest';
import { Assets } from '../../../src/admin/assets.js';

function assetsWith(files: Readonly<Record<string, string>>) {
  const asked: string[] = [];
  const assets = new Assets(async (path) => {
    asked.push(path);
    const text = files[path];
    if (text === undefined) throw new Error('ENOENT');
    return text;
  });
  return { asked, get: async (path: string) => (await assets.at(path)?.()) ?? null };
}

describe('the dashboard’s files', () => {
  it.each([
    ['/', 'dashboard/index.html', 'text/html; charset=utf-8'],
    ['/troubleshooting', 'dashboard/troubleshooting.html', 'text/html; charset=utf-8'],
    ['/dashboard/style.css', 'dashboard/style.css', 'text/css; charset=utf-8'],
    ['/dashboard/calls-view.js', 'dashboard/calls-view.js', 'text/javascript; charset=utf-8'],
    ['/admin/live-math.js', 'admin/live-math.js', 'text/javascript; charset=utf-8'],
  ])('%s is %s, typed for a browser that does not guess', async (path, file, type) => {
    const { get } = assetsWith({ [file]: 'its text' });
    expect(await get(path)).toMatchObject({ status: 200, body: 'its text', type });
  });

  it('may load from its own host alone, and is framed by nobody', async () => {
    const answer = await assetsWith({ 'dashboard/index.html': '' }).get('/');
    expect(answer?.headers?.['content-security-policy']).toBe(
      "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(answer?.headers?.['referrer-policy']).toBe('no-referrer');
  });

  it('are read when they are first asked for, and once', async () => {
    const { asked, get } = assetsWith({ 'dashboard/index.html': 'page' });
    expect(asked).toEqual([]);
    await get('/');
    await get('/');
    expect(asked).toEqual(['dashboard/index.html']);
  });

  it.each([
    '/dashboard/../main.js',
    '/dashboard/..%2Fmain.js',
    '/dashboard/a/b.js',
    '/dashboard/main.js.map',
    '/dashboard/.js',
    '/main.js',
    '/admin/server.js',
    '/dashboard/',
  ])('%s is none of them', async (path) => {
    const { asked, get } = assetsWith({});
    expect(await get(path)).toBeNull();
    expect(asked).toEqual([]);
  });

  it('that were not built are told so, by a program without any and by one that lacks one', async () => {
    const none = await new Assets(null).at('/')?.();
    expect(none).toEqual({
      status: 404,
      body: { error: 'dashboard/index.html was not built; npm run build makes it' },
    });
    expect(await assetsWith({}).get('/')).toEqual(none);
  });
});
