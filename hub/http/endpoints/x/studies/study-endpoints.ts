/** Studies: one job at many points (contract 12.45). */
import type { BatchJob } from '@workbench-hub/shared/domain/job';
import { z } from 'zod';
import { creatorOf, mayChangeTask } from '../../../../core/access.js';
import { invalidInput } from '../../../../core/errors.js';
import { POINT_OUTCOMES } from '../../../../core/studies/study.js';
import type { StudyRules } from '../../../../core/studies/study-faults.js';
import type { StudyService } from '../../../../engine/studies/study-service.js';
import type { Tasks } from '../../../../engine/tasks/tasks.js';
import { type JobFiles, parseBatchJob } from '../../../requests/parsing/batch-job-parsing.js';
import { batchJobContents, idParams } from '../../../requests/parsing/request-schemas.js';
import { enumeration, queryInteger, queryList, queryString } from '../../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../../routing/endpoint.js';
import { shown, shownDefault } from '../../../wire/openapi-overrides.js';
import {
  idempotencyHeaders,
  idempotencyKeyOf,
  KEY_REUSED,
  markReplayed,
} from '../../common/idempotency-key.js';
import {
  extendedStudy,
  presentPoint,
  presentStudy,
  presentStudyItem,
  studyDetails,
  studyItem,
  studyPoint,
} from './present-study.js';
import { addedPoints, newStudy, retryRequest } from './study-requests.js';

const PATH = '/api/x/studies';
const TAG = 'Studies';
const NOT_FOUND = { description: 'There is no such study.' };
const NOT_CHANGEABLE = { description: 'The state of the study does not permit it.' };
const REPLAYED = {
  'Idempotency-Replayed': '`true` when an earlier request with the same Idempotency-Key has done it.',
};
const LOCKED = { description: 'The hub accepts no tasks at present.' };

export interface StudyEndpointsOptions {
  readonly studies: StudyService;
  readonly tasks: Pick<Tasks, 'classifierErrors' | 'notifyErrors'>;
  readonly jobFiles: JobFiles;
}

export function studyEndpoints(options: StudyEndpointsOptions): Endpoint[] {
  const { studies } = options;
  return [
    listEndpoint(studies),
    createEndpoint(options),
    detailsEndpoint(studies),
    removeEndpoint(studies),
    pointsEndpoint(studies),
    addEndpoint(studies),
    changeEndpoint(studies, 'pause', 'Begin no further points of a study', 'Points whose tasks exist go on.'),
    changeEndpoint(
      studies,
      'resume',
      'Go on with a study that is paused or stopped',
      'Points that were canceled stay so; they can be tried again.',
    ),
    changeEndpoint(
      studies,
      'stop',
      'Stop a study',
      'Cancels the tasks of its points, also those that run. Points that have not begun stay without an outcome.',
    ),
    retryEndpoint(studies),
  ];
}

function createEndpoint({ studies, tasks, jobFiles }: StudyEndpointsOptions): Endpoint {
  return endpoint(
    {
      method: 'post',
      path: PATH,
      tag: TAG,
      operationId: 'createStudy',
      summary: 'Create a study',
      description:
        'A batch job, some of whose variables are left open, with a plan of their values. 201 is sent when the study is durable; ' +
        'its points become tasks one after the other.',
      admit: () => studies.admit(),
      body: newStudy,
      blobs: batchJobContents,
      warnsOfUnknownFields: true,
      requestHeaders: idempotencyHeaders('no second study is created, as long as the first one exists'),
      responses: {
        201: {
          description: 'The study runs.',
          schema: studyDetails,
          headers: {
            ...REPLAYED,
            Warning: 'Names request fields that the hub does not know and ignored; absent otherwise.',
          },
        },
        422: KEY_REUSED,
        423: LOCKED,
      },
    },
    async ({ body, caller, context, hold, audit }) => {
      const rules = rulesOf(body);
      const fixed = (body.variablesToInject ?? []).map(({ key }) => key);
      const checked = studies.checked(rules, body.plan, fixed);
      const errors = [
        ...tasks.classifierErrors(body.classifiers ?? []),
        ...tasks.notifyErrors(body.notify),
        ...('errors' in checked ? checked.errors : []),
      ];
      const job = (await parseBatchJob(body, errors, jobFiles, hold)) as BatchJob;
      if ('errors' in checked) throw invalidInput(checked.errors);
      const { counted, isReplayed } = await studies.create({
        name: body.name,
        note: body.note ?? null,
        creator: creatorOf(caller),
        notify: body.notify ?? null,
        definition: {
          ...rules,
          job,
          classifiers: body.classifiers ?? [],
          timeLimitS: body.timeLimit ?? null,
          stopAfterFailures: body.stopAfterFailures ?? null,
          stopAfterS: body.stopAfter ?? null,
          reuse: body.reuse ?? false,
        },
        checked,
        key: idempotencyKeyOf(context),
      });
      audit.detail = `study ${counted.study.id}`;
      if (isReplayed) markReplayed(context);
      return context.json(presentStudy(counted, true), 201);
    },
  );
}

/** Rules of a study, as far as they are checked before its job. */
function rulesOf({ variables, values, success, stopWhen, bundle }: z.output<typeof newStudy>): StudyRules {
  const conditions = { success: success ?? [], stopWhen: stopWhen ?? [] };
  return { variables, values: values ?? [], ...conditions, bundle: bundle ?? false };
}

const DEFAULT_STUDIES = 20;

const listQuery = z.object({
  name: queryString().optional().meta({ description: 'Whole name.', example: 'bearing, 10 speeds' }),
  limit: queryInteger({ minimum: 1, maximum: 100 })
    .default(DEFAULT_STUDIES)
    .meta({ description: 'Studies of a response.', example: 20, override: shownDefault(DEFAULT_STUDIES) }),
  after: queryString().optional().meta({ description: 'The `next` of an earlier response.' }),
});

const studyList = z
  .object({
    studies: z.array(studyItem).meta({ description: 'Newest first.' }),
    next: z
      .string()
      .optional()
      .meta({ description: 'Value of `after` for older ones; absent when there are none.' }),
  })
  .meta({ id: 'StudyList' });

function listEndpoint(studies: StudyService): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: PATH,
      tag: TAG,
      operationId: 'listStudies',
      summary: 'List studies, newest first',
      description: 'Studies of all users, with the numbers of their points by outcome.',
      query: listQuery,
      responses: { 200: { description: 'Studies.', schema: studyList } },
    },
    async ({ query: { name = null, after = null, limit }, context }) => {
      const { found, next } = await studies.list({ name, after, limit });
      return context.json({ studies: found.map(presentStudyItem), ...(next === null ? {} : { next }) });
    },
  );
}

function detailsEndpoint(studies: StudyService): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}`,
      tag: TAG,
      operationId: 'getStudy',
      summary: 'State and definition of a study',
      description: 'With the number of its points by outcome.',
      params: idParams,
      responses: { 200: { description: 'The study.', schema: studyDetails }, 404: NOT_FOUND },
    },
    async ({ params, caller, context }) => {
      const found = await studies.get(params.id);
      return context.json(presentStudy(found, mayChangeTask(caller, found.study)));
    },
  );
}

const DEFAULT_POINTS = 100;

const pointsQuery = z.object({
  after: queryInteger({ minimum: 0 })
    .default(0)
    .meta({ description: 'Points with greater numbers only.', example: 0, override: shownDefault(0) }),
  limit: queryInteger({ minimum: 1, maximum: 10_000 })
    .default(DEFAULT_POINTS)
    .meta({ description: 'Points of a response.', example: 100, override: shownDefault(DEFAULT_POINTS) }),
  outcome: queryList(enumeration([...POINT_OUTCOMES, 'OPEN']))
    .default([])
    .meta({
      description: 'Any of these; OPEN for points without one.',
      override: shown({ type: 'array', items: { type: 'string', enum: [...POINT_OUTCOMES, 'OPEN'] } }),
    }),
});

const pointList = z
  .object({
    points: z
      .array(studyPoint)
      .meta({ description: 'By number. Points that have not begun are not among them.' }),
    next: z
      .int()
      .optional()
      .meta({ description: 'Value of `after` for further ones; absent when there are none.' }),
  })
  .meta({ id: 'StudyPointList' });

function pointsEndpoint(studies: StudyService): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: `${PATH}/{id}/points`,
      isLarge: true,
      tag: TAG,
      operationId: 'listStudyPoints',
      summary: 'Points of a study with their outcomes and values',
      description: 'Points that have begun, by number.',
      params: idParams,
      query: pointsQuery,
      responses: { 200: { description: 'Points.', schema: pointList }, 404: NOT_FOUND },
    },
    async ({ params, query: { after, limit, outcome }, context }) => {
      const { study, points } = await studies.points(params.id, {
        after,
        limit: limit + 1,
        outcomes: outcome,
      });
      const listed = points.slice(0, limit);
      const next = points.length > limit ? listed.at(-1)?.number : undefined;
      return context.json({
        points: listed.map((point) => presentPoint(study, point)),
        ...(next === undefined ? {} : { next }),
      });
    },
  );
}

function addEndpoint(studies: StudyService): Endpoint {
  return endpoint(
    {
      method: 'post',
      path: `${PATH}/{id}/points`,
      tag: TAG,
      operationId: 'addStudyPoints',
      summary: 'Add points to a study',
      description: 'Their numbers follow those of the points before. A finished study runs again.',
      admit: () => studies.admit(),
      requestHeaders: idempotencyHeaders('the points are added once'),
      params: idParams,
      body: addedPoints,
      responses: {
        200: {
          description: 'The study with the further points.',
          schema: extendedStudy,
          headers: REPLAYED,
        },
        404: NOT_FOUND,
        409: NOT_CHANGEABLE,
        422: KEY_REUSED,
        423: LOCKED,
      },
    },
    async ({ params, body, caller, context, audit }) => {
      audit.detail = `study ${params.id}`;
      const extension = { plan: body.plan, key: idempotencyKeyOf(context) };
      const { counted, added, isReplayed } = await studies.extend(params.id, extension, caller);
      if (isReplayed) markReplayed(context);
      const { first, count } = added;
      return context.json({ ...presentStudy(counted, true), added: { first, count } });
    },
  );
}

function changeEndpoint(
  studies: StudyService,
  change: 'pause' | 'resume' | 'stop',
  summary: string,
  description: string,
): Endpoint {
  return endpoint(
    {
      method: 'post',
      path: `${PATH}/{id}/${change}`,
      tag: TAG,
      operationId: `${change}Study`,
      summary,
      description,
      params: idParams,
      responses: {
        200: { description: 'The study.', schema: studyDetails },
        404: NOT_FOUND,
        409: NOT_CHANGEABLE,
      },
    },
    async ({ params, caller, context, audit }) => {
      audit.detail = `study ${params.id}`;
      return context.json(presentStudy(await studies.change(params.id, change, caller), true));
    },
  );
}

function retryEndpoint(studies: StudyService): Endpoint {
  return endpoint(
    {
      method: 'post',
      path: `${PATH}/{id}/retry`,
      tag: TAG,
      operationId: 'retryStudyPoints',
      summary: 'Try points of a study again',
      description:
        'Each keeps its number, and gets another task when the study runs. A finished study runs again.',
      admit: () => studies.admit(),
      params: idParams,
      body: retryRequest,
      responses: {
        200: {
          description: 'The number of points that are tried again.',
          schema: z.object({ retried: z.int().min(0) }).meta({ id: 'RetriedStudyPoints' }),
        },
        404: NOT_FOUND,
        423: LOCKED,
      },
    },
    async ({ params, body, caller, context, audit }) => {
      audit.detail = `study ${params.id}, ${body.outcomes.join(', ')}`;
      return context.json({ retried: await studies.retry(params.id, body.outcomes, caller) });
    },
  );
}

function removeEndpoint(studies: StudyService): Endpoint {
  return endpoint(
    {
      method: 'delete',
      path: `${PATH}/{id}`,
      tag: TAG,
      operationId: 'deleteStudy',
      summary: 'Delete a study that is stopped or finished',
      description: 'Its points are deleted with it, their tasks are not.',
      params: idParams,
      responses: { 204: { description: 'The study is deleted.' }, 404: NOT_FOUND, 409: NOT_CHANGEABLE },
    },
    async ({ params, caller, context, audit }) => {
      audit.detail = `study ${params.id}`;
      await studies.remove(params.id, caller);
      return context.body(null, 204);
    },
  );
}
