import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, FlattenedSign } from 'jose';
import type { PublicKey, TextSigner } from '../core/ports/text-signer.js';

/** Beginning of an Ed25519 key in PKCS #8, before its 32 bytes (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Signer with these Ed25519 keys of 32 bytes, the newest first. */
export async function textSigner(bytes: readonly Buffer[]): Promise<TextSigner> {
  const keys = await Promise.all(bytes.map(keyOf));
  const [newest] = keys as [SigningKey];
  return {
    sign: async (text) => {
      const signed = await new FlattenedSign(Buffer.from(text))
        .setProtectedHeader({ alg: 'EdDSA', kid: newest.publicKey.kid })
        .sign(newest.privateKey);
      return { protected: signed.protected ?? '', payload: signed.payload, signature: signed.signature };
    },
    publicKeys: keys.map(({ publicKey }) => publicKey),
  };
}

interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: PublicKey;
}

async function keyOf(bytes: Buffer): Promise<SigningKey> {
  const key = Buffer.concat([PKCS8_PREFIX, bytes]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  const jwk = { kty: 'OKP', crv: 'Ed25519', x } as const;
  return {
    privateKey,
    publicKey: { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'EdDSA', use: 'sig' },
  };
}
