/** The hub of a command: from its options, the environment, or a profile. */
import { readFileSync } from 'node:fs';
import { type Credentials, Hub, TokenCredentials } from '@workbench-hub/client';
import { EnvHttpProxyAgent, FormData as UndiciFormData, fetch as undiciFetch } from 'undici';
import { tell } from './console.js';
import { messageOf, UsageError } from './exit-codes.js';
import { type Profile, profileOf, readProfiles } from './profiles.js';
import { SignOnCredentials } from './sign-on.js';
import { trustedAuthorities, trustSystemAuthorities } from './system-authorities.js';

/** Options that every command takes. */
export interface HubOptions {
  readonly hub?: string;
  readonly profile?: string;
  readonly caFile?: string;
}

interface Target {
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly credentials: Credentials | undefined;
}

/**
 * The hub to talk to: `--hub` with `$WB_TOKEN`, else `$WB_URL` with `$WB_TOKEN`, else the profile. Throws
 * {@link UsageError} when none is named.
 */
export async function hubOf(options: HubOptions): Promise<Hub> {
  const { credentials, ...target } = await targetOf(options);
  let hasTold = false;
  const onRetry = (error: Error) => {
    if (!hasTold) tell(`wb: ${messageOf(error)}; trying again`);
    hasTold = true;
  };
  return new Hub({
    onRetry,
    ...target,
    ...(credentials === undefined ? {} : { credentials }),
  });
}

/** Address and credentials for these options. */
export async function targetOf(options: HubOptions, env: NodeJS.ProcessEnv = process.env): Promise<Target> {
  const name = options.profile ?? (env['WB_PROFILE'] || undefined);
  const profile = profileOf(await readProfiles(), name);
  const ofEnvironment = env['WB_URL'] ? withoutSlash(env['WB_URL']) : undefined;
  const url =
    (options.hub === undefined ? undefined : withoutSlash(options.hub)) ??
    (name === undefined ? ofEnvironment : undefined) ??
    profile?.url;
  if (url === undefined)
    throw new UsageError('which hub? Log in with: wb login https://hub.example, or give --hub or WB_URL');
  expectAddress(url);
  const connect = fetchOf(options.caFile ?? (env['WB_CA_FILE'] || profile?.caFile));
  // A token belongs to one hub, and is sent to no other.
  const isOfEnvironment = ofEnvironment === undefined || ofEnvironment === url;
  const given = isOfEnvironment ? env['WB_TOKEN'] : undefined;
  const own = profile?.url === url ? profile : undefined;
  return { url, fetch: connect, credentials: credentialsOf(given, own, connect) };
}

/** Credentials for a hub: a token that is given, or else what its profile keeps. */
function credentialsOf(
  given: string | undefined,
  profile: (Profile & { readonly name: string }) | undefined,
  connect: typeof fetch,
): Credentials | undefined {
  if (given) return new TokenCredentials(given);
  if (profile?.signOn) return new SignOnCredentials(profile.name, profile, connect);
  return profile?.token === undefined ? undefined : new TokenCredentials(profile.token);
}

/** Throws {@link UsageError} for a text that is no address of a hub. */
export function expectAddress(url: string): void {
  const is = URL.canParse(url) ? new URL(url) : undefined;
  if (is && (is.protocol === 'http:' || is.protocol === 'https:') && is.hostname !== '') return;
  throw new UsageError(
    `${JSON.stringify(url)} is no address of a hub: it is like https://hub.example or http://hub.example:8080`,
  );
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

/** A `fetch` that goes through the proxy of the environment and trusts this authority besides those of the system and of Node.js. */
export function fetchOf(caFile: string | undefined): typeof fetch {
  const ca = caFile === undefined ? undefined : [...trustedAuthorities(), readAuthority(caFile)];
  const tls = ca === undefined ? {} : { connect: { ca }, requestTls: { ca } };
  const dispatcher = new EnvHttpProxyAgent({ ...tls, bodyTimeout: 0 });
  return ((input: string, init: RequestInit) => {
    // To read the store takes some hundredths of a second, which a hub without TLS need not cost.
    if (/^https:/i.test(input)) trustSystemAuthorities();
    return undiciFetch(input, { ...(init as object), ...bodyOf(init), dispatcher });
  }) as unknown as typeof fetch;
}

/** The body with undici's own class of forms: it takes no other. */
function bodyOf({ body }: RequestInit): { body?: UndiciFormData } {
  if (!(body instanceof FormData)) return {};
  const form = new UndiciFormData();
  for (const [name, value] of body) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, value.name);
  }
  return { body: form };
}

function readAuthority(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`the authority ${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
