import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { flattenedVerify, importJWK } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openManifestSigner } from './manifest-keys.js';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'manifest-keys-'));
});
afterEach(() => rm(dataDir, { recursive: true }));

const path = () => join(dataDir, 'manifest-keys');

describe('the signer of manifests', () => {
  it('signs the same text with the same bytes, by a key that it makes once for its user only', async () => {
    const signed = await (await openManifestSigner(dataDir)).sign('text');
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    const again = await openManifestSigner(dataDir);
    expect(await again.sign('text')).toEqual(signed);
    const [key] = again.publicKeys;
    const { payload, protectedHeader } = await flattenedVerify(signed, await importJWK({ ...key }));
    expect(Buffer.from(payload).toString()).toBe('text');
    expect(protectedHeader).toEqual({ alg: 'EdDSA', kid: key?.kid });
  });

  // The key and signature of RFC 8032, 7.1, test 1, and the thumbprint of its public key in RFC 8037, A.3.
  it('has the public key and the name that the standards say', async () => {
    const seed = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
    await writeFile(path(), `${seed.toString('base64')}\n`, { mode: 0o600 });
    expect((await openManifestSigner(dataDir)).publicKeys).toEqual([
      {
        kty: 'OKP',
        crv: 'Ed25519',
        x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
        kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
        alg: 'EdDSA',
        use: 'sig',
      },
    ]);
  });

  it('signs with the first key of the file, and publishes the others', async () => {
    const [former] = (await openManifestSigner(dataDir)).publicKeys;
    const lines = `${randomBytes(32).toString('base64')}\n${await readFile(path(), 'utf8')}`;
    await writeFile(path(), lines);
    const signer = await openManifestSigner(dataDir);
    expect(signer.publicKeys).toEqual([expect.any(Object), former]);
    const { protected: header } = await signer.sign('text');
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string };
    expect(kid).toBe(signer.publicKeys[0]?.kid);
  });

  it('refuses a file that others may read, and one with something else', async () => {
    await writeFile(path(), 'short\n', { mode: 0o600 });
    await expect(openManifestSigner(dataDir)).rejects.toThrow(
      /must have one key of 32 bytes in Base64 on each line/,
    );
    await chmod(path(), 0o640);
    await expect(openManifestSigner(dataDir)).rejects.toThrow(
      /\(mode 640\), who could sign manifests; run "chmod 600/,
    );
  });
});
