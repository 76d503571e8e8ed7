import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifyManifest } from './manifest.js';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const { x = '' } = publicKey.export({ format: 'jwk' });
const KEY = { kty: 'OKP', crv: 'Ed25519', x, kid: 'k', alg: 'EdDSA', use: 'sig' } as const;
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function signed(manifest: object, header: object = { alg: 'EdDSA', kid: 'k' }) {
  const [start, payload] = [encoded(header), encoded(manifest)];
  const signature = sign(null, Buffer.from(`${start}.${payload}`), privateKey).toString('base64url');
  return { manifest, payload, protected: start, signature };
}

const MANIFEST = { format: 'workbench-hub-manifest', version: 1, outputs: [{ path: 'a' }] };
const verify = (given: unknown, keys = [KEY]) => verifyManifest(given, { keys });

describe('verifyManifest', () => {
  it('resolves with what was signed, and the name of the key', async () => {
    expect(await verify(signed(MANIFEST))).toEqual({ manifest: MANIFEST, kid: 'k' });
  });

  it('takes a copy whose fields were sorted, as tools do', async () => {
    const { outputs, version, format } = MANIFEST;
    const manifest = { outputs, version, format };
    expect(await verify({ ...signed(MANIFEST), manifest })).toEqual({ manifest: MANIFEST, kid: 'k' });
  });

  it.each([
    ['another value', { ...MANIFEST, outputs: [{ path: 'b' }] }, 'manifest.outputs[0].path'],
    ['a field more', { ...MANIFEST, log: {} }, 'manifest.log'],
    ['a field less', { format: MANIFEST.format, version: 1 }, 'manifest.outputs'],
    ['an element more', { ...MANIFEST, outputs: [{ path: 'a' }, {}] }, 'manifest.outputs[1]'],
    ['an object for a list', { ...MANIFEST, outputs: { 0: { path: 'a' } } }, 'manifest.outputs'],
    ['nothing', null, 'manifest'],
  ])('refuses a readable copy with %s', async (_, manifest, place) => {
    await expect(verify({ ...signed(MANIFEST), manifest })).rejects.toThrow(
      `its readable part is not what was signed: ${place} differs`,
    );
  });

  it.each([
    ['what is no object', 'text', /no signed manifest/],
    ['null', null, /no signed manifest/],
    [
      'an object without a signature',
      { manifest: MANIFEST, payload: '', protected: '' },
      /no signed manifest/,
    ],
    [
      'another algorithm',
      signed(MANIFEST, { alg: 'none', kid: 'k' }),
      /in a way that this client does not know/,
    ],
    ['a critical extension', signed(MANIFEST, { alg: 'EdDSA', kid: 'k', crit: ['b64'] }), /in a way that/],
    ['a header that is null', { ...signed(MANIFEST), protected: encoded(null) }, /in a way that/],
    ['a header that is no JSON', { ...signed(MANIFEST), protected: 'e' }, /its field protected is no JSON/],
    [
      'a key that is not given',
      signed(MANIFEST, { alg: 'EdDSA', kid: 'other' }),
      /with the key other, .*given: k$/,
    ],
    ['a signature of another text', { ...signed(MANIFEST), payload: encoded({}) }, /it was changed/],
    ['a signature that is none', { ...signed(MANIFEST), signature: '?' }, /it was changed/],
    ['another format', signed({ ...MANIFEST, format: 'other' }), /no workbench-hub-manifest of version 1/],
    ['a later version', signed({ ...MANIFEST, version: 2 }), /a newer client may know it/],
    [
      'a payload that is null',
      { ...signed(null as unknown as object), manifest: {} },
      /a newer client may know it/,
    ],
  ])('refuses %s', async (_, given, words) => {
    const refused = verify(given);
    await expect(refused).rejects.toThrow(words);
    await expect(refused).rejects.toMatchObject({ name: 'ManifestRefusedError' });
  });

  it('refuses what is no key', async () => {
    await expect(verify(signed(MANIFEST), [{ ...KEY, x: 'AA' }])).rejects.toThrow(
      /no public key for Ed25519/,
    );
  });
});
