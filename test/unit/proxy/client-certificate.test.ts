import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { forwardedCertificate } from '../../../src/proxy/client-certificate.js';

const read = (name: string): X509Certificate =>
  new X509Certificate(readFileSync(new URL(`../../support/tls/${name}.crt`, import.meta.url)));

const facts = { fingerprint256: 'AB:0C', subject: 'CN=a', subjectAltName: undefined };

describe('a client certificate in x-forwarded-client-cert', () => {
  it('is the hash of the whole, the subject by RFC 2253, each URI, each DNS name', () => {
    const client = read('client');
    expect(forwardedCertificate(client)).toBe(
      `Hash=${client.fingerprint256.replaceAll(':', '').toLowerCase()};` +
        String.raw`Subject="CN=orders,OU=Gr\C3\BCn,O=Hedge\, Row \"Ltd\",C=NL";` +
        'URI=spiffe://hedgerow.test/orders;DNS=orders.test;DNS=orders-two.test',
    );
    expect(forwardedCertificate(read('client-two'))).toMatch(/^Hash=[0-9a-f]{64};Subject="CN=client two"$/);
  });

  it.each([
    ['', ''],
    ['O=x\nOU=a + CN=b', 'CN=b+OU=a,O=x'],
    [String.raw`CN=a\+b`, String.raw`CN=a\+b`],
    ['CN=tab\tand line', String.raw`CN=tab\09and line`],
  ])('the subject %j is told as %j', (subject, told) => {
    expect(forwardedCertificate({ ...facts, subject })).toBe(`Hash=ab0c;Subject="${told}"`);
  });

  it.each([
    ['IP Address:127.0.0.1, email:a@b.test, DNS:c.test', 'DNS=c.test'],
    ['DNS:a.test, URI:x:y, DNS:b.test', 'URI=x:y;DNS=a.test;DNS=b.test'],
    ['DNS:"a, DNS:b\\"", DNS:c', String.raw`DNS="a, DNS:b\"";DNS=c`],
    ['URI:spiffe://a?b=c', 'URI="spiffe://a?b=c"'],
  ])('the alternative names %j are told as %j', (subjectAltName, told) => {
    expect(forwardedCertificate({ ...facts, subjectAltName })).toBe(`Hash=ab0c;Subject="CN=a";${told}`);
  });
});
