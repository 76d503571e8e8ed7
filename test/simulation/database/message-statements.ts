/** Statements on mail and messages between hubs, performed on the model. */

import * as SQL from '@workbench-hub/hub/store/postgres/cluster/relay/relay-statements';
import { LONG_SIGNALS } from '@workbench-hub/hub/store/postgres/cluster/signals/long-signals';
import { NOTIFY, NOTIFY_OF_TEXTS } from '@workbench-hub/hub/store/postgres/cluster/signals/message-sender';
import { type ClusterStatement, type ClusterTables, isLive, modelOf } from './cluster-tables.js';

interface Asked {
  readonly id: string;
  readonly hubId: string;
  readonly agentId: string;
  readonly request: string;
  readonly timeoutMs: number;
  readonly lapseMs: number;
}

interface AskedHub extends Omit<Asked, 'agentId'> {
  readonly toHub: string;
}

interface Texts {
  readonly payloads: readonly string[];
  readonly incarnation: string;
  readonly numbers: readonly number[];
  readonly signals: readonly string[];
}

/** Posts a request to another live hub; a repeat posts nothing new. */
function post(
  { agentId, toHub, ...given }: Asked & AskedHub,
  tables: ClusterTables,
  nowMs: number,
): { to_hub: string }[] {
  const { id, hubId, request, timeoutMs, lapseMs } = given;
  const hub = tables.hubs.get(toHub);
  if (!hub || hub.id === hubId || !isLive(hub, lapseMs, nowMs)) return [];
  const envelope = { id, fromHub: hubId, toHub, agentId, request, askedAtMs: nowMs, timeoutMs };
  const posted = tables.mail.get(id) ?? { ...envelope, reply: null };
  tables.mail.set(id, posted);
  return [{ to_hub: posted.toHub }];
}

const MAIL: readonly [string, ClusterStatement][] = [
  modelOf<Asked>(SQL.ASK, 'RELAXED', (given, { tables, nowMs }) => {
    const holderId = tables.agents.get(given.agentId)?.hubId;
    return holderId == null ? [] : post({ ...given, toHub: holderId }, tables, nowMs);
  }),
  modelOf<AskedHub>(SQL.ASK_HUB, 'RELAXED', (given, { tables, nowMs }) =>
    post({ ...given, agentId: '' }, tables, nowMs),
  ),
  modelOf<{ hubId: string; known: readonly string[] }>(
    SQL.REQUESTS,
    'READ',
    ({ hubId, known }, { tables, nowMs }) =>
      [...tables.mail.values()]
        .filter(({ id, toHub, reply }) => toHub === hubId && reply === null && !known.includes(id))
        .map(({ id, agentId, fromHub, request, timeoutMs, askedAtMs }) => ({
          id,
          agent_id: agentId,
          from_hub: fromHub,
          request,
          left_ms: timeoutMs - (nowMs - askedAtMs),
        })),
  ),
  modelOf<{ id: string; reply: string }>(SQL.REPLY, 'RELAXED', ({ id, reply }, { tables }) => {
    const row = tables.mail.get(id);
    if (row) row.reply = reply;
    return [];
  }),
  modelOf<{ ids: readonly string[] }>(SQL.REPLIES, 'READ', ({ ids }, { tables }) =>
    ids.flatMap((id) => {
      const reply = tables.mail.get(id)?.reply;
      return reply == null ? [] : [{ id, reply }];
    }),
  ),
  modelOf<{ id: string }>(SQL.FORGET, 'RELAXED', ({ id }, { tables }) => {
    tables.mail.delete(id);
    return [];
  }),
];

export const MESSAGE_STATEMENTS: readonly [string, ClusterStatement][] = [
  ...MAIL,
  modelOf<Pick<Texts, 'payloads'>>(
    { name: NOTIFY.name, parameters: ['payloads'] },
    'RELAXED',
    ({ payloads }, { notify }) => {
      notify(payloads);
      return [];
    },
  ),
  modelOf<Texts>(
    { name: NOTIFY_OF_TEXTS.name, parameters: ['payloads', 'incarnation', 'numbers', 'signals'] },
    'RELAXED',
    ({ payloads, incarnation, numbers, signals }, { tables, nowMs, notify }) => {
      for (const [at, number] of numbers.entries()) {
        const key = `${incarnation} ${number}`;
        if (!tables.texts.has(key))
          tables.texts.set(key, { incarnation, number, toldAtMs: nowMs, signals: signals[at] ?? '' });
      }
      notify(payloads);
      return [];
    },
  ),
  modelOf<Pick<Texts, 'incarnation' | 'numbers'>>(
    { name: LONG_SIGNALS.name, parameters: ['incarnation', 'numbers'] },
    'READ',
    ({ incarnation, numbers }, { tables }) =>
      numbers.flatMap((number) => {
        const row = tables.texts.get(`${incarnation} ${number}`);
        return row ? [{ number, signals: row.signals }] : [];
      }),
  ),
];
