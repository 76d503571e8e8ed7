/** The authorities that the agent trusts where `tls.ca` names none. */
import { trustSystemAuthorities } from '@workbench-hub/shared/hub-link/system-authorities';
import { type AgentConfig, hubAddresses } from './config.js';

/** Has this process trust the authorities of the system, if it has connections that would. Returns a sentence when they cannot be read. */
export function trustSystemFor(config: AgentConfig): string | null {
  return asksSystem(config) ? trustSystemAuthorities() : null;
}

function asksSystem(config: AgentConfig): boolean {
  const { tls, tracing } = config;
  const joinsByTls = tls.ca === null && hubAddresses(config).some((address) => /^wss:/i.test(address));
  return joinsByTls || /^https:/i.test(tracing.endpoint ?? '');
}
