import { describe, expect, it } from 'vitest';
import {
  backendTlsProblem,
  clientTlsProblem,
  datesProblem,
  describeCertificate,
} from '../../../src/cli/tls-problem.js';
import { certificate, privateKey } from '../../support/tls.js';

const clientPaths = { tlsCert: 'a.crt', tlsKey: 'a.key', tlsClientCa: 'ca.crt' };
const backendPaths = { backendCa: 'ca.crt', backendCert: 'a.crt', backendKey: 'a.key' };
const good = { tlsCert: certificate('server'), tlsKey: privateKey('server'), tlsClientCa: certificate('ca') };
const both = certificate('ca') + certificate('other-ca');

describe('files for TLS', () => {
  it('that are good have no problem: chains, bundles, text around them', () => {
    expect(clientTlsProblem(good, clientPaths)).toBeNull();
    expect(clientTlsProblem({ ...good, tlsCert: `${good.tlsCert}${certificate('ca')}` }, clientPaths)).toBeNull();
    expect(
      clientTlsProblem({ ...good, tlsClientCa: `# two\r\n${both.replaceAll('\n', '\r\n')}` }, clientPaths),
    ).toBeNull();
    const none = { backendCa: null, backendCert: null, backendKey: null };
    expect(backendTlsProblem(none, none)).toBeNull();
  });

  it.each([
    ['', /^--tls-client-ca ca\.crt: holds no certificate in PEM form$/],
    [privateKey('server'), /^--tls-client-ca ca\.crt: holds no certificate in PEM form$/],
    // Half of a file that is being written: OpenSSL would take the first and forget the other.
    [both.slice(0, -100), /^--tls-client-ca ca\.crt: certificate 2 of the 2 in it is broken$/],
    [both.replace('MII', 'AAA'), /^--tls-client-ca ca\.crt: certificate 1 of the 2 in it is broken$/],
  ])('a CA file that is broken is told with flag and file', (tlsClientCa, words) => {
    expect(clientTlsProblem({ ...good, tlsClientCa }, clientPaths)).toMatch(words);
  });

  it('a key of another certificate is told on either side', () => {
    expect(clientTlsProblem({ ...good, tlsKey: privateKey('client') }, clientPaths)).toBe(
      '--tls-key a.key: is not the key of the certificate in a.crt',
    );
    const backend = { backendCa: null, backendCert: certificate('client'), backendKey: privateKey('server') };
    expect(backendTlsProblem(backend, backendPaths)).toBe(
      '--backend-key a.key: is not the key of the certificate in a.crt',
    );
  });
});

describe('a certificate for the log', () => {
  it('is its subject, its end and its hash', () => {
    expect(describeCertificate(certificate('client'))).toEqual({
      subject: expect.stringMatching(/^C=NL, O=Hedge.*CN=orders$/),
      valid_until: '2120-01-01T00:00:00.000Z',
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('outside of its dates is warned of', () => {
    const at = (iso: string): string | null =>
      datesProblem('tlsCert', certificate('expired'), 'a.crt', Date.parse(iso));
    expect(at('2020-06-01')).toBeNull();
    expect(at('2021-06-01')).toMatch(/^--tls-cert a\.crt: the certificate has expired, on Jan {2}1 .*2021/);
    expect(at('2019-06-01')).toMatch(/^--tls-cert a\.crt: the certificate is not valid before Jan {2}1 .*2020/);
  });
});
