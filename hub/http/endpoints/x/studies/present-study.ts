/** Studies and points as `/api/x` shows them (contract 12.45). */
import { CLASSIFIER_TYPES } from '@workbench-hub/shared/domain/classifier';
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import {
  type OutcomeCounts,
  POINT_CAUSES,
  POINT_OUTCOMES,
  STUDY_STATES,
  type Study,
  type StudyRecord,
} from '../../../../core/studies/study.js';
import type { ReadValue } from '../../../../core/studies/values/read-value.js';
import { originOf } from '../../../../core/webhook-addresses.js';
import type { CountedRecord, CountedStudy, PointOfStudy } from '../../../../engine/studies/study-service.js';
import { shown } from '../../../wire/openapi-overrides.js';
import { presentDelivery } from '../present-task.js';
import { delivery } from '../task-schemas.js';

const EXAMPLE_ID = '019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77';
const EXAMPLE_TIME = '2026-11-21T06:53:00.123+01:00';
const count = z.int().min(0);

const numberOrText = z
  .union([z.number(), z.string()])
  .meta({ override: shown({ oneOf: [{ type: 'number' }, { type: 'string' }] }) });

const itemFields = {
  id: z.string().meta({ example: EXAMPLE_ID }),
  name: z.string().meta({ example: 'bearing, 10 speeds' }),
  note: z.string().optional(),
  creator: z.string().optional().meta({ description: 'Present when security is enabled.' }),
  state: z.enum(STUDY_STATES).meta({
    description: 'PAUSED: no further points begin. STOPPED: those in progress were canceled, too.',
  }),
  message: z.string().optional().meta({ description: 'Why it has stopped or paused by itself.' }),
  open: z.boolean().meta({ description: 'Whether it waits for further points when all have ended.' }),
  createdAt: z.string().meta({ example: EXAMPLE_TIME }),
  endedAt: z.string().optional().meta({
    description: 'Time at which it was stopped, or had all its outcomes.',
    example: EXAMPLE_TIME,
  }),
  points: z
    .object({
      total: count,
      waiting: count.meta({ description: 'Points that have not begun, or are to be tried again.' }),
      open: count.meta({ description: 'Points whose task waits or runs.' }),
      ...Object.fromEntries(POINT_OUTCOMES.map((outcome) => [outcome, count])),
    })
    .meta({ description: 'Number of points, and of those with each outcome.' }),
};

export const studyItem = z.object(itemFields).meta({ id: 'StudyItem' });

export const studyDetails = z
  .object({
    ...itemFields,
    classifiers: z.array(z.object({ type: z.enum(CLASSIFIER_TYPES), value: z.string() })),
    timeLimit: z.int().optional().meta({ description: 'Time limit of each point in seconds.' }),
    stopAfterFailures: z.int().optional(),
    stopAfter: z.int().optional().meta({ description: 'Seconds after which it stops by itself.' }),
    stopWhen: z
      .array(
        z
          .object({ value: z.string(), lower: z.number().optional(), upper: z.number().optional() })
          .meta({ id: 'StudyCondition' }),
      )
      .optional()
      .meta({ description: 'Conditions at which it stops by itself.' }),
    reuse: z
      .boolean()
      .meta({ description: 'Whether points take the results of earlier tasks with equal inputs.' }),
    bundle: z.boolean().meta({ description: 'Whether several small points may run as one task.' }),
    variables: z.array(
      z
        .object({
          name: z.string(),
          kind: z.enum(['NUMBER', 'INTEGER', 'TEXT']),
          unit: z.string().optional(),
          lower: z.number().optional(),
          upper: z.number().optional(),
          scale: z.enum(['LINEAR', 'LOGARITHMIC']),
        })
        .meta({ id: 'StudyVariable' }),
    ),
    values: z.array(
      z
        .object({ name: z.string(), kind: z.enum(['NUMBER', 'TEXT']), unit: z.string().optional() })
        .meta({ id: 'StudyValue' }),
    ),
    notify: z.string().optional().meta({
      description:
        'Address that gets a webhook at each end and pause. Others than the creator and the role ADMIN see its origin only.',
      example: 'https://ci.example.org/hooks/hub',
    }),
    webhooks: z
      .array(delivery)
      .optional()
      .meta({ description: 'Webhooks about the latest end or pause of which they tell.' }),
  })
  .meta({ id: 'Study' });

/** A study to which points were added. */
export const extendedStudy = studyDetails
  .extend({
    added: z
      .object({ first: z.int().min(1), count: z.int().min(1) })
      .meta({ description: 'Number of the first point of this request, and how many there are.' }),
  })
  .meta({ id: 'ExtendedStudy' });

export const studyPoint = z
  .object({
    number: z.int().min(1).meta({ description: 'Counted from 1; the same over all tries.', example: 17 }),
    tries: z.int().min(1),
    taskId: z.string().meta({
      description: 'Task of the latest try, or the earlier one whose result it has.',
      example: EXAMPLE_ID,
    }),
    bundled: z.boolean().optional().meta({
      description:
        'Present and true if this is also the task of other points: its file points.ndjson has a line for each.',
    }),
    variables: z.record(z.string(), numberOrText).meta({ example: { speed: 1500 } }),
    outcome: z
      .enum(POINT_OUTCOMES)
      .optional()
      .meta({
        description:
          'Absent while its task waits or runs. SOLVER_FAILED: the job failed. RULE_FAILED: its values do not meet the conditions. ' +
          'INFRASTRUCTURE: given up for a fault that says nothing about the point. CANCELED: by somebody. REUSED: it has the result of an ' +
          'earlier task.',
      }),
    reused: z
      .boolean()
      .optional()
      .meta({ description: 'Present and true if it has the result of an earlier task.' }),
    notReused: z.string().optional().meta({
      description:
        'Why it has a task of its own, in a study that reuses results: the first input that differs from the nearest one.',
      example:
        'load is 2 instead of 1 in the nearest earlier result, task 019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77',
    }),
    cause: z.enum(POINT_CAUSES).optional().meta({
      description:
        'Cause of INFRASTRUCTURE. CRASH: of the instance. LOSS: of the agent. HOST_FAULT: such as a full disk.',
    }),
    message: z
      .string()
      .optional()
      .meta({ description: 'Why it has another outcome than FINISHED and REUSED.' }),
    values: z.record(z.string(), numberOrText).meta({
      description:
        'Values that were read. Numbers that JSON does not know are the texts NaN, Infinity and -Infinity.',
      example: { stress: 312.5 },
    }),
    missing: z
      .record(z.string(), z.string())
      .optional()
      .meta({
        description: 'Why values could not be read, by their names.',
        example: { strain: 'the job left no file result.json' },
      }),
    startedAt: z.string().optional().meta({ example: EXAMPLE_TIME }),
    endedAt: z.string().optional().meta({ example: EXAMPLE_TIME }),
  })
  .meta({ id: 'StudyPoint' });

export function presentStudyItem({ study, counts }: CountedRecord) {
  const { id, name, note, creator, state, message, isOpen, createdAtMs, endedAtMs } = study;
  return {
    ...{ id, name, state, open: isOpen },
    ...(note === null ? {} : { note }),
    ...(creator === null ? {} : { creator }),
    ...(message === null ? {} : { message }),
    createdAt: offsetTimestamp(createdAtMs),
    ...(endedAtMs === null ? {} : { endedAt: offsetTimestamp(endedAtMs) }),
    points: presentCounts(study, counts),
  };
}

/** `mayChange`: whether the caller may change the study, and so sees the address that it names, which may hold a secret. */
export function presentStudy({ study, counts, notify, deliveries }: CountedStudy, mayChange: boolean) {
  const { classifiers, timeLimitS, reuse, bundle, variables, values } = study.definition;
  return {
    ...presentStudyItem({ study, counts }),
    classifiers,
    ...(timeLimitS === null ? {} : { timeLimit: timeLimitS }),
    ...presentStopRules(study.definition),
    reuse,
    bundle,
    variables: variables.map(({ name, kind, unit, lower, upper, scale }) => ({
      ...{ name, kind, scale },
      ...(unit === null ? {} : { unit }),
      ...(lower === null ? {} : { lower }),
      ...(upper === null ? {} : { upper }),
    })),
    values: values.map(({ name, kind, unit }) => ({ name, kind, ...(unit === null ? {} : { unit }) })),
    ...(notify === null ? {} : { notify: mayChange ? notify.url : originOf(notify.receiver) }),
    ...(deliveries.length === 0 ? {} : { webhooks: deliveries.map(presentDelivery) }),
  };
}

function presentStopRules({ stopAfterFailures, stopAfterS, stopWhen }: Study['definition']) {
  const conditions = stopWhen.map(({ value, lower, upper }) => ({
    value,
    ...(lower === null ? {} : { lower }),
    ...(upper === null ? {} : { upper }),
  }));
  return {
    ...(stopAfterFailures === null ? {} : { stopAfterFailures }),
    ...(stopAfterS === null ? {} : { stopAfter: stopAfterS }),
    ...(conditions.length === 0 ? {} : { stopWhen: conditions }),
  };
}

function presentCounts({ pointCount, begunCount }: StudyRecord, counts: OutcomeCounts) {
  return {
    total: pointCount,
    waiting: pointCount - begunCount + (counts.DUE ?? 0),
    open: counts.OPEN ?? 0,
    ...Object.fromEntries(POINT_OUTCOMES.map((outcome) => [outcome, counts[outcome] ?? 0])),
  };
}

export function presentPoint(
  { definition }: Study,
  { number, tries, taskId, variables, bundle, notReused, end }: PointOfStudy,
) {
  const named = definition.variables.map(({ name }, index) => [name, variables[index]] as const);
  const read = definition.values.flatMap(({ name }, index) => {
    const value = end?.values[index];
    return value === undefined ? [] : [{ name, value }];
  });
  const missing = read.flatMap(({ name, value }) => (value.kind === 'MISSING' ? [[name, value.reason]] : []));
  return {
    ...{ number, tries, taskId, variables: Object.fromEntries(named) },
    ...(bundle === null ? {} : { bundled: true }),
    ...(end === null ? {} : { outcome: end.outcome, endedAt: offsetTimestamp(end.endedAtMs) }),
    ...(typeof end?.source === 'string' ? { reused: true } : {}),
    ...(notReused === null ? {} : { notReused }),
    ...(end === null || end.cause === null ? {} : { cause: end.cause }),
    ...(end === null || end.message === null ? {} : { message: end.message }),
    ...(end === null || end.startedAtMs === null ? {} : { startedAt: offsetTimestamp(end.startedAtMs) }),
    values: Object.fromEntries(read.flatMap(({ name, value }) => valueEntry(name, value))),
    ...(missing.length === 0 ? {} : { missing: Object.fromEntries(missing) }),
  };
}

function valueEntry(name: string, read: ReadValue): [string, number | string][] {
  if (read.kind === 'MISSING') return [];
  return [[name, read.kind === 'NUMBER' && !Number.isFinite(read.value) ? String(read.value) : read.value]];
}
