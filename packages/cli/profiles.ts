/** Profiles: the hubs that a user has logged in to, in a file that only its owner may read, and that the Python client reads, too. */
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UsageError } from './exit-codes.js';

export interface Profile {
  readonly url: string;
  /** Personal access token, or one of the company's sign-on; absent for a hub without security. */
  readonly token?: string;
  /** Id of the token, to revoke it. */
  readonly tokenId?: string;
  /** PEM file of a private authority. */
  readonly caFile?: string;
  /** Sign-on that gave the token. */
  readonly signOn?: SignOn;
}

/** A public client of the company's sign-on, and what it was given. */
export interface SignOn {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly resource?: string;
  /** Renews the token. */
  readonly refreshToken?: string;
  /** Expiry of the token, in ISO 8601. */
  readonly expiresAt?: string;
}

export interface Profiles {
  /** Name of the profile that is used unless another is asked for. */
  readonly default?: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const NONE: Profiles = { profiles: {} };
const LOCK_EVERY_MS = 25;
/** A lock this old was left by a killed program. */
const LOCK_STALE_MS = 10_000;

/** `$WB_PROFILES`, or `workbench-hub/profiles.json` in the user's folder of configuration. */
export function profilesFile(env: NodeJS.ProcessEnv = process.env, system = process.platform): string {
  return env['WB_PROFILES'] || path.join(configurationFolder(env, system), 'workbench-hub', 'profiles.json');
}

function configurationFolder(env: NodeJS.ProcessEnv, system: NodeJS.Platform): string {
  if (system === 'win32') return env['APPDATA'] || path.join(homedir(), 'AppData', 'Roaming');
  return env['XDG_CONFIG_HOME'] || path.join(homedir(), '.config');
}

export async function readProfiles(file = profilesFile()): Promise<Profiles> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`the profiles in ${file} cannot be read: ${error.message}`);
  });
  if (text === undefined) return NONE;
  try {
    const parsed = JSON.parse(text) as Partial<Profiles>;
    if (typeof parsed.profiles === 'object' && parsed.profiles !== null)
      return { ...parsed, profiles: parsed.profiles };
  } catch {
    // Reported below.
  }
  throw new UsageError(`${file} is no file of profiles: correct it, or remove it and log in again`);
}

/** Changes the profiles. Simultaneous programs take turns, and a reader sees the file as it was or as it is. */
export async function changeProfiles(
  change: (profiles: Profiles) => Profiles,
  file = profilesFile(),
): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  await withLock(`${file}.lock`, LOCK_STALE_MS, async () => {
    const text = `${JSON.stringify(change(await readProfiles(file)), null, 2)}\n`;
    const partial = `${file}.${randomUUID()}.partial`;
    await writeFile(partial, text, { mode: 0o600 });
    await chmod(partial, 0o600);
    await rename(partial, file);
  });
}

/** Acts while no other program holds this lock. One that is older than `staleMs` is taken over. */
export async function withLock<T>(file: string, staleMs: number, act: () => Promise<T>): Promise<T> {
  const unlock = await lock(file, staleMs);
  try {
    return await act();
  } finally {
    await unlock();
  }
}

async function lock(file: string, staleMs: number): Promise<() => Promise<void>> {
  const giveUpAtMs = Date.now() + 2 * staleMs;
  while (Date.now() < giveUpAtMs) {
    try {
      await (await open(file, 'wx', 0o600)).close();
      return () => rm(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const found = await stat(file).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > staleMs) await rm(file, { force: true });
    else await delay(LOCK_EVERY_MS);
  }
  throw new UsageError(`${file} is held by another program: remove it if there is none`);
}

/** The profile of this name, or the default one; undefined when nobody has logged in. Throws {@link UsageError} for an unknown name. */
export function profileOf(
  { default: current, profiles }: Profiles,
  name?: string,
): (Profile & { readonly name: string }) | undefined {
  const wanted = name ?? current;
  if (wanted === undefined) return undefined;
  const profile = profiles[wanted];
  if (!profile && name !== undefined) {
    const known = Object.keys(profiles).join(', ') || 'none';
    throw new UsageError(`there is no profile ${JSON.stringify(name)}; known profiles: ${known}`);
  }
  return profile && { ...profile, name: wanted };
}
