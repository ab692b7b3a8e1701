import { type Answer, type ReadAsset, refused } from './admin-state.js';

const html = 'text/html; charset=utf-8';
const css = 'text/css; charset=utf-8';
const script = 'text/javascript; charset=utf-8';

interface Asset {
  readonly file: string;
  readonly type: string;
}

const assets: ReadonlyMap<string, Asset> = new Map([
  ['/', { file: 'dashboard/index.html', type: html }],
  ['/troubleshooting', { file: 'dashboard/troubleshooting.html', type: html }],
  ['/dashboard/icon.svg', { file: 'dashboard/icon.svg', type: 'image/svg+xml' }],
  // What the page shares with the rest of the program.
  ['/admin/live-math.js', { file: 'admin/live-math.js', type: script }],
  ['/text/words.js', { file: 'text/words.js', type: script }],
]);

/** A module or a sheet of the page. No further dots and slashes: nothing leads out of the folder. */
const part = /^\/(dashboard\/[a-z][a-z-]*\.(js|css))$/;

/**
 * The page may load and ask its own host alone, run no script that stands in its text, be framed by nobody, and tells no
 * other site where it was.
 */
const headers = {
  'content-security-policy':
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cache-control': 'no-cache',
} as const;

/** Gives what belongs to the dashboard; each file is read when it is first asked for. */
export class Assets {
  private readonly read: ReadAsset | null;
  private readonly texts = new Map<string, string>();

  /** @param read null: a program that has no files of its own, as when it runs from its source */
  constructor(read: ReadAsset | null) {
    this.read = read;
  }

  /** Null: no such path. */
  at(path: string): (() => Promise<Answer>) | null {
    const [, file, kind] = part.exec(path) ?? [];
    const asset = assets.get(path) ?? (file === undefined ? null : { file, type: kind === 'css' ? css : script });
    return asset === null ? null : () => this.answer(asset);
  }

  private async answer({ file, type }: Asset): Promise<Answer> {
    const text = this.texts.get(file) ?? (await this.load(file));
    if (text === null) return refused({ status: 404, problem: `${file} was not built; npm run build makes it` });
    return { status: 200, body: text, type, headers };
  }

  private async load(file: string): Promise<string | null> {
    if (this.read === null) return null;
    try {
      const text = await this.read(file);
      this.texts.set(file, text);
      return text;
    } catch {
      return null;
    }
  }
}
