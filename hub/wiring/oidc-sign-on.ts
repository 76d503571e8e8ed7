/** Composition of the company's sign-on. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { HubConfig } from '../config.js';
import type { UserStore } from '../core/ports/accounts.js';
import type { Authenticator } from '../engine/accounts/authenticator-chain.js';
import { BrowserSignOn } from '../engine/accounts/browser-sign-on.js';
import type { SignOnWays } from '../http/endpoints/x/sign-on-endpoint.js';
import { CodeFlowProvider } from '../security/code-flow-provider.js';
import { oidcAuthenticator } from '../security/oidc.js';
import { sealFor } from '../security/sealed-cookies.js';
import { secrets } from '../security/secrets.js';
import { trustedCertificates } from '../security/trusted-certificates.js';

export interface SignOn {
  /** Identifies the holders of its tokens. */
  readonly authenticator: Authenticator;
  /** Null where browsers do not log in by it. */
  readonly browser: BrowserSignOn | null;
}

export interface SignOnOptions {
  readonly config: HubConfig;
  readonly users: Pick<UserStore, 'find' | 'all'>;
  /** Key from which those of its cookies are derived. */
  readonly key: Buffer;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** The sign-on; null where none is configured. */
export async function openSignOn({
  config,
  users,
  key,
  runtime,
  log,
}: SignOnOptions): Promise<SignOn | null> {
  const { oidc } = config.security;
  if (!oidc) return null;
  const { clockTolerance: clockToleranceMs, ca: caFile, deviceLogin: _, browserLogin, ...settings } = oidc;
  const ca = caFile === null ? null : await trustedCertificates(caFile, 'security.oidc.ca');
  const isOwnUser = async (username: string) => (await users.find(username)) !== undefined;
  const ownUsers = async () => (await users.all()).map(({ username }) => username);
  const authenticator = oidcAuthenticator({
    ...settings,
    clockToleranceMs,
    ca,
    isOwnUser,
    ownUsers,
    runtime,
    log,
  });
  if (!browserLogin) return { authenticator, browser: null };
  const { clock, timers } = runtime;
  const browser = new BrowserSignOn({
    provider: new CodeFlowProvider({ issuer: oidc.issuer, ...browserLogin }, { timers, ca }, clock),
    authenticator,
    logInSeal: sealFor('log-in', key, clock),
    refreshSeal: sealFor('refresh', key, clock),
    lifetimeMs: config.security.refreshTokenLifetime,
    secrets,
    clock,
    log,
  });
  return { authenticator, browser };
}

/** Ways to log in by the sign-on. */
export function signOnWays({ security: { enabled, oidc } }: HubConfig): SignOnWays {
  if (!enabled || !oidc) return { deviceLogin: undefined, browserLogin: undefined, tokenRequired: enabled };
  const { issuer, deviceLogin, browserLogin } = oidc;
  return {
    deviceLogin: deviceLogin ? deviceLoginOf(issuer, deviceLogin) : undefined,
    browserLogin: browserLogin ? { issuer } : undefined,
    tokenRequired: true,
  };
}

type DeviceLoginSettings = NonNullable<NonNullable<HubConfig['security']['oidc']>['deviceLogin']>;

function deviceLoginOf(issuer: string, { clientId, scopes, resource }: DeviceLoginSettings) {
  return { issuer, clientId, scopes, ...(resource === null ? {} : { resource }) };
}
