/** Verification of manifests, without the hub. */
import type { Manifest, ManifestKey, ManifestKeys, SignedManifest } from './generated/types.gen.js';

/** A manifest is not what a hub has signed, or of a key that is not given. */
export class ManifestRefusedError extends Error {
  override readonly name = 'ManifestRefusedError';
}

export interface VerifiedManifest {
  readonly manifest: Manifest;
  /** Name of the key that signed it. */
  readonly kid: string;
}

/** Format that this client knows. */
const FORMAT = 'workbench-hub-manifest';
const VERSION = 1;

/**
 * The content of a signed manifest, if one of the keys has signed it and its readable copy says the same. Rejects with
 * {@link ManifestRefusedError} otherwise. `given` is a manifest as the hub sent it, parsed from JSON.
 */
export async function verifyManifest(
  given: unknown,
  { keys }: Pick<ManifestKeys, 'keys'>,
): Promise<VerifiedManifest> {
  const signed = expectSigned(given);
  const header = parsed(signed.protected, 'protected') as { alg?: unknown; kid?: unknown; crit?: unknown };
  if (header?.alg !== 'EdDSA' || typeof header.kid !== 'string' || header.crit !== undefined)
    throw new ManifestRefusedError(
      'it is signed in a way that this client does not know: expected EdDSA with a key name',
    );
  const { kid } = header;
  const key = keys.find((each) => each.kid === kid);
  if (!key) {
    const known = keys.map((each) => each.kid).join(', ') || 'none';
    throw new ManifestRefusedError(
      `it is signed with the key ${kid}, which is not among those given: ${known}`,
    );
  }
  if (!(await isSignedWith(key, signed)))
    throw new ManifestRefusedError(
      `its signature is not one of the key ${kid}: it was changed, or is not of this hub`,
    );
  const manifest = parsed(signed.payload, 'payload') as Manifest;
  if (manifest?.format !== FORMAT || manifest.version !== VERSION)
    throw new ManifestRefusedError(
      `its payload is no ${FORMAT} of version ${VERSION}: a newer client may know it`,
    );
  const changed = differingField(manifest, signed.manifest);
  if (changed !== undefined)
    throw new ManifestRefusedError(`its readable part is not what was signed: ${changed} differs`);
  return { manifest, kid };
}

function expectSigned(given: unknown): SignedManifest {
  const fields = (typeof given === 'object' ? given : null) as Partial<
    Record<keyof SignedManifest, unknown>
  > | null;
  const isSigned =
    typeof fields?.protected === 'string' &&
    typeof fields.payload === 'string' &&
    typeof fields.signature === 'string' &&
    typeof fields.manifest === 'object';
  if (isSigned) return given as SignedManifest;
  throw new ManifestRefusedError(
    'it is no signed manifest: expected an object with manifest, protected, payload and signature',
  );
}

async function isSignedWith({ kty, crv, x }: ManifestKey, signed: SignedManifest): Promise<boolean> {
  const signature = bytesOf(signed.signature);
  if (!signature) return false;
  const key = await crypto.subtle
    .importKey('jwk', { kty, crv, x }, 'Ed25519', false, ['verify'])
    .catch((error: unknown) => {
      throw new ManifestRefusedError('the key that is given for it is no public key for Ed25519', {
        cause: error,
      });
    });
  const text = new TextEncoder().encode(`${signed.protected}.${signed.payload}`);
  return crypto.subtle.verify('Ed25519', key, signature, text);
}

function parsed(base64url: string, field: string): unknown {
  try {
    const bytes = bytesOf(base64url);
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ManifestRefusedError(`its field ${field} is no JSON in Base64url`, { cause: error });
  }
}

/** Undefined for what is no Base64url. */
function bytesOf(base64url: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]+$/.test(base64url)) return undefined;
  try {
    const base64 = base64url.replaceAll('-', '+').replaceAll('_', '/');
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Path of a field that two values of JSON do not have alike; undefined when they are equal. */
function differingField(one: unknown, other: unknown, path = 'manifest'): string | undefined {
  if (!isContainer(one) || !isContainer(other)) return one === other ? undefined : path;
  if (Array.isArray(one) !== Array.isArray(other)) return path;
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const place = Array.isArray(one) ? `${path}[${name}]` : `${path}.${name}`;
    if (!Object.hasOwn(one, name) || !Object.hasOwn(other, name)) return place;
    const found = differingField(one[name], other[name], place);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
