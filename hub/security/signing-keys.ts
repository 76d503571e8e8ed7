/**
 * Signing keys of access tokens, in `<dataDir>/token-keys.json`, readable by the hub's user only. The newest key signs; a
 * superseded one verifies for as long as its tokens can be valid. `workbench-hub keys rotate` adds a key while the hub runs:
 * the file is checked, at most once a second, before a token is signed and when a token names an unknown key. Where several hubs
 * share the file, a new key signs once the others would find it.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isThere } from '@workbench-hub/shared/runtime/is-there';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { syncFolder } from '@workbench-hub/shared/runtime/sync-folder';
import { writeOnce } from '@workbench-hub/shared/runtime/write-once';
import { z } from 'zod';

const FILE_NAME = 'token-keys.json';

const KEY_BYTES = 32;

const LOOK_AGAIN_AFTER_MS = 1000;

/** Time in which a new key only verifies: longer than another hub keeps from looking. */
const SIGNS_AFTER_MS = 2 * LOOK_AGAIN_AFTER_MS;

/** Tolerance for a running hub that signs with a key shortly after its rotation, and for clock differences between
 *  processes. */
const GRACE_MS = 60_000;

/** Time after its rotation in which a superseded key may sign, and is outlived by no token. */
const STILL_SIGNS_MS = GRACE_MS / 2;

const keySchema = z.strictObject({
  kid: z.string().regex(/^[\w-]{8,64}$/),
  secret: z.string().regex(/^[\w-]{43}$/),
  /** Undefined for the newest key. */
  supersededAt: z.iso.datetime().nullable(),
});

const fileSchema = z
  .strictObject({ keys: z.array(keySchema).min(1) })
  .refine(({ keys }) => keys.filter(({ supersededAt }) => supersededAt === null).length === 1, {
    error: 'exactly one key may be in use',
  });

type KeyFile = z.output<typeof fileSchema>;

export interface SigningKey {
  readonly kid: string;
  readonly secret: Uint8Array;
}

export interface SigningKeys {
  /** The signing key. */
  newest(): Promise<SigningKey>;
  /** The key of this name, while it may verify. */
  find(kid: string): Promise<SigningKey | undefined>;
}

export interface SigningKeysOptions {
  readonly dataDir: string;
  readonly lifetimeMs: number;
  readonly clock: Clock;
  /** Makes the file that of the other hubs, before it is looked at; undefined where there can be no others. */
  readonly share?: (() => Promise<void>) | undefined;
}

/** Reads the keys, or creates the first one. Throws {@link StartRefused} when the file is unusable. */
export async function openSigningKeys(
  options: SigningKeysOptions & { readonly log: Logger },
): Promise<SigningKeys> {
  const { dataDir, lifetimeMs, clock, log, share } = options;
  await makeSigningKeys(dataDir);
  const path = join(dataDir, FILE_NAME);
  let version = await versionOf(path);
  let held = await read(path);
  let lookedAtMs = clock.monotonicMs();
  let former: { readonly kid: string; readonly untilMs: number } | undefined;
  let looking: Promise<void> | undefined;

  const signing = () => {
    const superseded = held.keys.find(({ kid }) => kid === former?.kid);
    const signs = former && clock.monotonicMs() < former.untilMs && superseded && maySign(superseded, clock);
    return signs ? superseded : inUse(held);
  };
  const look = async () => {
    lookedAtMs = clock.monotonicMs();
    try {
      await share?.();
      const latest = await versionOf(path);
      if (latest === version) return;
      version = latest;
      const { kid } = signing();
      held = await read(path);
      if (share) former = { kid, untilMs: clock.monotonicMs() + SIGNS_AFTER_MS };
      log.info({ kid: inUse(held).kid }, 'access tokens get a new signing key');
    } catch (error) {
      log.error({ err: error }, 'the file of the signing keys cannot be read; the present keys stay in use');
    }
  };
  const lookAgain = async () => {
    if (!looking && clock.monotonicMs() - lookedAtMs < LOOK_AGAIN_AFTER_MS) return;
    looking ??= look().finally(() => {
      looking = undefined;
    });
    await looking;
  };
  const known = (kid: string) => held.keys.find((key) => key.kid === kid && !isOver(key, lifetimeMs, clock));

  return {
    newest: async () => {
      await lookAgain();
      return signingKey(signing());
    },
    find: async (kid) => {
      if (!known(kid)) await lookAgain();
      const key = known(kid);
      return key && signingKey(key);
    },
  };
}

/** Key of a hub without security, which ends with the process. */
export function ephemeralKey(): SigningKeys {
  const key = { kid: randomUUID(), secret: randomBytes(KEY_BYTES) };
  return { newest: async () => key, find: async (kid) => (kid === key.kid ? key : undefined) };
}

/** Adds a new key and drops expired ones; resolves with its name. */
export async function rotateSigningKeys({ dataDir, lifetimeMs, clock }: SigningKeysOptions): Promise<string> {
  await makeSigningKeys(dataDir);
  const path = join(dataDir, FILE_NAME);
  const { keys } = await read(path);
  const supersededAt = new Date(clock.nowMs()).toISOString();
  const kept = keys
    .filter((key) => !isOver(key, lifetimeMs, clock))
    .map((key) => ({ ...key, supersededAt: key.supersededAt ?? supersededAt }));
  const key = newKey();
  const { uid, gid } = await stat(path);
  const fresh = await writeBeside(path, { keys: [key, ...kept] }, { uid, gid });
  await rename(fresh, path);
  await syncFolder(dirname(path));
  return key.kid;
}

function inUse({ keys }: KeyFile): z.output<typeof keySchema> {
  return keys.find(({ supersededAt }) => supersededAt === null) as z.output<typeof keySchema>;
}

function maySign({ supersededAt }: { supersededAt: string | null }, clock: Clock): boolean {
  return supersededAt === null || clock.nowMs() < Date.parse(supersededAt) + STILL_SIGNS_MS;
}

function isOver(
  { supersededAt }: { supersededAt: string | null },
  lifetimeMs: number,
  clock: Clock,
): boolean {
  return supersededAt !== null && Date.parse(supersededAt) + lifetimeMs + GRACE_MS < clock.nowMs();
}

function signingKey({ kid, secret }: { kid: string; secret: string }): SigningKey {
  return { kid, secret: Buffer.from(secret, 'base64url') };
}

function newKey() {
  return { kid: randomUUID(), secret: randomBytes(KEY_BYTES).toString('base64url'), supersededAt: null };
}

/** Creates the first keys unless there are some. Of several concurrent creators, the first wins. */
export async function makeSigningKeys(dataDir: string): Promise<void> {
  const path = join(dataDir, FILE_NAME);
  await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  if (await isThere(path)) return;
  await writeOnce(path, textOf({ keys: [newKey()] }));
}

async function versionOf(path: string): Promise<string> {
  const { ino, mtimeMs } = await stat(path);
  return `${ino} ${mtimeMs}`;
}

function textOf(keys: KeyFile): string {
  return `${JSON.stringify(keys, null, 2)}\n`;
}

/** Creates a complete, synced temporary file. When root runs this, the owner of the old file stays. */
async function writeBeside(
  path: string,
  content: KeyFile,
  owner?: { readonly uid: number; readonly gid: number },
): Promise<string> {
  const fresh = `${path}.${randomUUID()}`;
  const handle = await open(fresh, 'wx', 0o600);
  try {
    await handle.writeFile(textOf(content));
    if (owner && process.getuid?.() === 0) await handle.chown(owner.uid, owner.gid);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return fresh;
}

async function read(path: string): Promise<KeyFile> {
  const remedy = 'restore it, or remove it to have new keys made: access tokens then have to be refreshed';
  let text: string;
  try {
    const { mode } = await stat(path);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new StartRefused(
        `${path} may be read by other users (mode ${(mode & 0o777).toString(8)}): whoever read it can make access ` +
          `tokens; run "chmod 600 ${path}" and then "workbench-hub keys rotate"`,
      );
    }
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof StartRefused) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new StartRefused(`${path} cannot be read (${code}): correct its rights, ${remedy}`, {
      cause: error,
    });
  }
  const parsed = fileSchema.safeParse(jsonOf(text));
  if (!parsed.success) throw new StartRefused(`${path} holds no signing keys: ${remedy}`);
  return parsed.data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
