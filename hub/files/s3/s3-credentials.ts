import { readFile } from 'node:fs/promises';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { S3Fault } from './s3-fault.js';
import type { S3Settings } from './s3-settings.js';

/** Time after which the files are read again, so that keys can be replaced without a restart. */
const VALID_MS = 5 * 60_000;

/** The credentials of a client: from the files, or none, for those that the SDK finds. */
export function credentialsOf(
  { accessKeyIdFile, secretAccessKeyFile }: S3Settings,
  clock: Clock,
): Pick<S3ClientConfig, 'credentials'> {
  if (accessKeyIdFile === null || secretAccessKeyFile === null) return {};
  return {
    credentials: async () => ({
      accessKeyId: await textOf(accessKeyIdFile, 'accessKeyIdFile'),
      secretAccessKey: await textOf(secretAccessKeyFile, 'secretAccessKeyFile'),
      expiration: new Date(clock.nowMs() + VALID_MS),
    }),
  };
}

async function textOf(file: string, key: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw unreadable(file, key, (error as NodeJS.ErrnoException).code);
  }
}

function unreadable(file: string, key: string, code: string | undefined): S3Fault {
  const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
  return new S3Fault(
    'REFUSED',
    `the file ${file} of storage.s3.${key} ${why}`,
    'correct the path, or the rights of the file',
  );
}
