/** Manifests of ended tasks, and the keys that verify them (contract 12.46). */
import { z } from 'zod';
import { MANIFEST_FORMAT, MANIFEST_VERSION } from '../../../engine/tasks/manifest.js';
import type { Manifests } from '../../../engine/tasks/manifests.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { attachment } from '../../routing/responses/download.js';
import {
  attemptSchema,
  bundledPoints,
  hostModel,
  inputFile,
  instanceSchema,
  logFile,
  outputFile,
  requirementSchema,
  storedFiles,
  taskFields,
} from './task-schemas.js';

const time = (description: string) => z.string().meta({ description, example: '2026-11-21T05:53:00.123Z' });

const { waitReason: _wait, attempt: _attempt, instance: _instance, ...kept } = taskFields;

const manifestTask = z
  .object({
    ...kept,
    requirement: requirementSchema,
    timeLimit: z.int().optional().meta({ description: 'Longest run in seconds.', example: 3600 }),
    requestedAt: time('When the request was received, in UTC.'),
    startedAt: time('When the latest attempt began; absent when it was canceled before.').optional(),
    endedAt: time('When the task ended.').optional(),
  })
  .meta({ id: 'ManifestTask' });

const manifest = z
  .object({
    format: z.literal(MANIFEST_FORMAT),
    version: z.literal(MANIFEST_VERSION).meta({ description: 'Version of the format.' }),
    hub: z
      .object({
        id: z.string().meta({ description: 'Identity, the same for all hubs on one database.' }),
        address: z.string().optional().meta({
          description: 'Public address, if the hub has one.',
          example: 'https://hub.example.com',
        }),
      })
      .meta({ description: 'The hub that signs.' }),
    task: manifestTask,
    duration: z.int().optional().meta({ description: 'Duration of simulated work, in seconds.', example: 5 }),
    hostModel: hostModel.optional().meta({
      description: 'A model that lies on the simulation host; the hub knows no digest of it.',
    }),
    inputs: z.array(inputFile).meta({ description: 'Model, scripts in their order, and additional files.' }),
    variables: z.array(z.object({ key: z.string(), value: z.string() })),
    points: bundledPoints.optional(),
    instance: instanceSchema.optional().meta({ description: 'Instance of the latest attempt.' }),
    attempts: z.array(attemptSchema).meta({ description: 'In their order, with times in UTC.' }),
    outputs: z.array(outputFile).meta({ description: 'By path.' }),
    log: logFile.optional(),
    storedFiles: storedFiles.meta({
      description: 'Files that the job left in the output storage, without digests.',
    }),
  })
  .meta({ id: 'Manifest' });

const signedManifest = z
  .object({
    manifest: manifest.meta({ description: 'The payload, for people. Only the payload is signed.' }),
    payload: z.string().meta({ description: 'UTF-8 of the manifest as JSON, in Base64url.' }),
    protected: z.string().meta({
      description:
        'Header of the signature in Base64url: `alg`, which is EdDSA, and `kid`, the name of the key.',
    }),
    signature: z
      .string()
      .meta({ description: 'Signature by Ed25519 over header and payload, in Base64url.' }),
  })
  .meta({ id: 'SignedManifest' });

const publicKey = z
  .object({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: z.string().meta({ description: 'The public key in Base64url.' }),
    kid: z.string().meta({ description: 'Name of the key: its thumbprint (RFC 7638).' }),
    alg: z.literal('EdDSA'),
    use: z.literal('sig'),
  })
  .meta({ id: 'ManifestKey' });

export function manifestEndpoints(manifests: Manifests): Endpoint[] {
  return [manifestEndpoint(manifests), keysEndpoint(manifests)];
}

function manifestEndpoint(manifests: Manifests): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/api/x/tasks/{id}/manifest',
      isLarge: true,
      tag: 'Tasks',
      operationId: 'getTaskManifest',
      summary: 'The signed manifest of an ended task',
      description:
        'Digests of inputs and outputs, variables, instance, attempts, who and when, signed by the hub: a flattened JWS ' +
        '(RFC 7515) with its payload once more in clear. The same bytes each time, while nothing of the task changes.',
      params: idParams,
      responses: {
        200: { description: 'The manifest.', schema: signedManifest },
        404: { description: 'There is no such task, or it has not ended.' },
      },
    },
    async ({ params: { id }, context }) => {
      const signed = await manifests.of(id);
      return context.body(`${JSON.stringify(signed, null, 2)}\n`, 200, {
        'content-type': 'application/json',
        'content-disposition': attachment(`${id}.manifest.json`),
      });
    },
  );
}

function keysEndpoint(manifests: Manifests): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/api/x/manifest-keys',
      tag: 'Tasks',
      operationId: 'listManifestKeys',
      summary: 'Public keys that verify manifests',
      description:
        'A JWK set (RFC 7517), the newest key first. Keep it to verify manifests without the hub, and when it has another key.',
      responses: {
        200: {
          description: 'The keys.',
          schema: z.object({ keys: z.array(publicKey) }).meta({ id: 'ManifestKeys' }),
        },
      },
    },
    ({ context }) => context.json({ keys: [...manifests.keys] }),
  );
}
