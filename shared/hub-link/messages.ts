/** Messages to hubs, and messages of hubs in words. */
import {
  AGENT_PROTOCOL_VERSIONS,
  type HelloMessage,
  type HubMessage,
  LATER_MESSAGES,
  LATER_REQUESTS,
} from '../agent-protocol/messages.js';
import type { Installation } from '../domain/installation.js';
import type { InstanceReport } from '../domain/instance.js';
import type { InstanceState, Introduction } from '../joining/ports/hub.js';

/** Names and build of the agent. */
export interface AgentNames extends Omit<HelloMessage['agent'], 'installation'> {
  /** Absent for a hub that joins as an agent. */
  readonly installation?: Installation;
}

/** The first message; `nowMs` is the time of this host, in milliseconds since 1970, `joinNumber` above that of all earlier ones. */
export function helloMessage(
  { installation, ...names }: AgentNames,
  { instances, running, spooled, hub, isTrial }: Introduction,
  { nowMs, joinNumber }: { readonly nowMs: number; readonly joinNumber: number },
): HelloMessage {
  return {
    type: 'hello',
    protocolVersions: [...AGENT_PROTOCOL_VERSIONS],
    agent: { ...names, ...(installation && { installation: installationMessage(installation) }) },
    clockMs: Math.round(nowMs),
    joinNumber,
    instances: instances.map(instanceMessage),
    answers: [...LATER_REQUESTS],
    takes: [...LATER_MESSAGES],
    ...(hub && { hub }),
    ...(isTrial && { trial: true as const }),
    running: [...running],
    spooled: [...spooled],
  };
}

/** Known parts of an installation, in the form of the protocol. */
function installationMessage({ kind, os, arch }: Installation) {
  return { ...(kind && { kind }), ...(os && { os }), ...(arch && { arch }) };
}

/** All fields: one without a value is undefined, and not left out. */
type EachFieldOf<Type> = { [Field in keyof Required<Type>]: Type[Field] };

/** State of an instance in the form of the protocol. */
export function instanceMessage(state: InstanceState): EachFieldOf<InstanceReport> {
  const { id, version, revision, labels, runs, status, upForMs, lent, host } = state;
  return { id, version, revision, labels: [...labels], runs, status, upForMs, lent, host };
}

/** Reason of a refusal, with its remedy. */
export function refusalText(code: Extract<HubMessage, { type: 'refused' }>['code'], message: string): string {
  switch (code) {
    case 'PROTOCOL_VERSION':
    case 'AGENT_ID_NOT_PROVEN':
    case 'JOIN_OUTDATED':
    case 'HUB_CIRCLE':
      return `refused: ${message}`;
    case 'AGENT_ID_TAKEN':
      return `refused: ${message}; give this agent another "id", or stop the other one`;
    case 'INSTANCE_ID_TAKEN':
      return `refused: ${message}; give the instance another "id"`;
  }
}
