/** Cost of each step of a task, in microseconds of processor time on hub, agent and instance: profiles give the shares, the
 *  processor time of the processes gives the total. */
import type { Frame, Stack } from './profile.js';

export interface StepCost {
  /** Processor time of the hub, of both agents, of all instance programs. */
  readonly where: Where;
  readonly step: string;
  readonly us: number;
}

export type Where = 'hub' | 'agents' | 'instances';

/** A step, and the functions that do it: their names and files. */
type Step = readonly [name: string, ...functions: (readonly [name: RegExp, file: RegExp])[]];

const ANY = /./;
const LINK = /agent-protocol\/link/;

const COLLECTING: Step = ['collect garbage', [/^\(garbage collector\)$/, /^$/]];

const STEPS: Readonly<Record<Where, readonly Step[]>> = {
  hub: [
    ['read and parse the request', [/^(?:parserOn|onParser|allocHttp)/, /^node:_http/]],
    ['find the endpoint', [ANY, /hono\/dist\/router|http\/routing\/static-first-router/]],
    [
      'admit and handle the request',
      [/^(?:serve|#serve|#handle|fetch|#dispatch|deferResponse)$/, /^hub\/http|^hono/],
    ],
    ['read and check the body', [/^(?:readJson|readBytes|validated|safeParse)$/, /^hub\/http|^zod/]],
    [
      'write the response',
      [
        /^(?:responseVia|end$|setHeader$|writeHead$|_storeHeader$|resOnFinish)/,
        /node-server|^node:_http|^hub\/http/,
      ],
    ],
    [
      'create the task',
      [/^(?:create|createSimulateWork|createBatchJob)$/, /^hub\/(?:engine|http)/],
      [ANY, /new-ids|^uuid/],
    ],
    ['insert the task', [/^insertTask$/, /task-insertion/]],
    ['begin and commit', [/^(?:flush|#transaction)$/, /group-commit/]],
    [
      'sync, and notify waiters',
      [/^(?:#syncAll|#sync|sync|fdatasync|notify)$/, /group-commit|wal-sync|result-waiters|^node:fs/],
    ],
    [
      'schedule',
      [/^(?:#round|#rounds|#pair|pair|heads|wake)$/, /^hub\//],
      [ANY, /engine\/queue-(?:pools|head-cache)/],
    ],
    ['claim the task', [/^claimTask$/, /attempt-writes/]],
    ['assign', [/^(?:#dispatch|assign|started)$/, /^hub\/engine/]],
    ['send to agents', [/^(?:flush|sendFrame|send)$/, LINK], [ANY, /^ws\/lib\/sender/]],
    ['receive from agents', [/^(?:socketOnData|receiverOnMessage)$/, /^ws\//], [/^receive$/, LINK]],
    [
      'process the report',
      [
        /^(?:#onMessage|#handle|reported|#process|report|adoptOnReport|#carryOut|#end)$/,
        /^hub\/(?:engine|agent-link)/,
      ],
    ],
    ['end the task', [/^endTask$/, /attempt-writes/]],
    ['metrics', [ANY, /^prom-client|hub\/metrics/]],
  ],
  agents: [
    ['receive from the hub', [/^(?:socketOnData|receiverOnMessage)$/, /^ws\//], [/^receive$/, LINK]],
    ['accept the task', [/^(?:assign|onAssign)$/, /^agent\//], [/^#run$/, /jobs/]],
    ['call the instance', [/^(?:simulateWork|executeBatchJob|request|#post)$/, /^agent|instance-protocol/]],
    ['parse the response', [/^#onStdout$/, /program-process/], [/^receive$/, /instance-protocol/]],
    [
      'spool the report',
      [/^(?:add|put)$/, /reporting|disk-spool/],
      [ANY, /^agent\/disk\/(?:journal|disk-spool)/],
    ],
    ['send to the hub', [/^(?:flush|sendFrame|send)$/, LINK], [ANY, /^ws\/lib\/sender/]],
    ['supervise the instance', [ANY, /supervisor|instance-states/]],
  ],
  instances: [
    [
      'read the call',
      [ANY, /standard-input|framing/],
      [/^(?:onStreamRead|receive|parse)$/, /^node:internal\/stream|instance-protocol/],
    ],
    ['do the work', [/^(?:simulateWork|executeBatchJob|onRequest)$/, /instance-protocol|^packages/]],
    ['write the response', [/^(?:#post|writeLine|answer)$/, /instance-protocol/]],
  ],
};

/** `usPerTask` is the processor time of those processes for a task. */
export function costsOf(where: Where, stacks: readonly Stack[], usPerTask: number): StepCost[] {
  const steps = [COLLECTING, ...STEPS[where]];
  const msOf = new Map<string, number>();
  for (const { frames, ms } of stacks) {
    const step = stepOf(frames, steps);
    msOf.set(step, (msOf.get(step) ?? 0) + ms);
  }
  const all = [...msOf.values()].reduce((sum, ms) => sum + ms, 0);
  return [...steps.map(([name]) => name), REST].flatMap((step) => {
    const ms = msOf.get(step);
    return ms === undefined ? [] : [{ where, step, us: (ms / all) * usPerTask }];
  });
}

const REST = 'Node.js between these steps';

/** The innermost step that the stack is in. */
function stepOf(frames: readonly Frame[], steps: readonly Step[]): string {
  for (const frame of [...frames].reverse()) {
    const step = steps.find((candidate) => isIn(frame, candidate));
    if (step) return step[0];
  }
  return REST;
}

function isIn({ name, file }: Frame, [, ...functions]: Step): boolean {
  return functions.some(([ofName, ofFile]) => ofName.test(name) && ofFile.test(file));
}
