/** The hub of a command: from its options, the environment, or a profile. */
import { readFileSync } from 'node:fs';
import { Hub } from '@workbench-hub/client';
import { EnvHttpProxyAgent, FormData as UndiciFormData, fetch as undiciFetch } from 'undici';
import { UsageError } from './exit-codes.js';
import { type Profile, profileOf, readProfiles } from './profiles.js';

/** Options that every command takes. */
export interface HubOptions {
  readonly hub?: string;
  readonly profile?: string;
  readonly caFile?: string;
}

/**
 * The hub to talk to: `--hub` with `$WB_TOKEN`, else `$WB_URL` with `$WB_TOKEN`, else the profile. Throws
 * {@link UsageError} when none is named.
 */
export async function hubOf(options: HubOptions, env: NodeJS.ProcessEnv = process.env): Promise<Hub> {
  const { url, token, caFile } = await targetOf(options, env);
  return new Hub({ url, fetch: fetchOf(caFile), ...(token === undefined ? {} : { token }) });
}

/** Address, token and authority for these options. */
async function targetOf(options: HubOptions, env: NodeJS.ProcessEnv): Promise<Profile> {
  const name = options.profile ?? (env['WB_PROFILE'] || undefined);
  const profile = profileOf(await readProfiles(), name);
  const ofEnvironment = env['WB_URL'] ? withoutSlash(env['WB_URL']) : undefined;
  const url =
    (options.hub === undefined ? undefined : withoutSlash(options.hub)) ??
    (name === undefined ? ofEnvironment : undefined) ??
    profile?.url;
  if (url === undefined)
    throw new UsageError('which hub? Log in with: wb login https://hub.example, or give --hub or WB_URL');
  // A token belongs to one hub, and is sent to no other.
  const isOfEnvironment = ofEnvironment === undefined || ofEnvironment === url;
  const token = (isOfEnvironment && env['WB_TOKEN']) || (profile?.url === url ? profile.token : undefined);
  const caFile = options.caFile ?? (env['WB_CA_FILE'] || profile?.caFile);
  return { url, ...(token === undefined ? {} : { token }), ...(caFile === undefined ? {} : { caFile }) };
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

/** A `fetch` that goes through the proxy of the environment and trusts this authority instead of the system's. */
export function fetchOf(caFile: string | undefined): typeof fetch {
  const ca = caFile === undefined ? undefined : readAuthority(caFile);
  const tls = ca === undefined ? {} : { connect: { ca }, requestTls: { ca } };
  const dispatcher = new EnvHttpProxyAgent({ ...tls, bodyTimeout: 0 });
  return ((input: string, init: RequestInit) =>
    undiciFetch(input, { ...(init as object), ...bodyOf(init), dispatcher })) as unknown as typeof fetch;
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
