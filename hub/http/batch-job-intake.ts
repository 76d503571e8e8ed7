/** Turns the body of an execute-batch-job request into a job whose contents are in the file store. */

import { isAbsolute, win32 } from 'node:path';
import type { FileRef, Job, ModelSource } from '@workbench-hub/shared/domain/job';
import { additionalFileFaults, jobSizeFaults, modelFileName, variableFaults } from '../core/batch-job.js';
import { HubError, type InputFault, invalidInput } from '../core/errors.js';
import type { FileStore } from '../core/ports/files.js';
import { decodeBase64 } from './base64.js';
import { type FileLimits, fileTooLarge, NOT_BASE64, StoredContent, tooManyFiles } from './content.js';
import type { ExecuteBatchJobRequest } from './request-schemas.js';

/** Everything is checked before anything is stored that is not stored yet. Throws INVALID_INPUT with every fault,
 *  BODY_TOO_LARGE, INPUT_STORAGE_OFF. */
export async function takeInBatchJob(
  request: ExecuteBatchJobRequest,
  faults: readonly InputFault[],
  files: FileStore,
  { maxFileBytes, maxFiles }: FileLimits,
): Promise<Job> {
  const additional = request.additionalFiles ?? [];
  const variables = request.variablesToInject ?? [];
  const reference = request.inputModelReference ?? null;
  const modelPath = request.inputModel ? modelFileName(request.inputModel.type) : null;
  const found: InputFault[] = [...faults];

  let tooLarge: HubError | undefined;
  const decode = (where: string, text: string | StoredContent): Buffer | StoredContent => {
    if (text instanceof StoredContent) return text;
    const content = decodeBase64(text);
    if (!content) found.push({ where, what: NOT_BASE64 });
    else if (content.length > maxFileBytes) tooLarge ??= fileTooLarge(where, maxFileBytes);
    return content ?? Buffer.alloc(0);
  };
  const keep = (content: Buffer | StoredContent): Promise<FileRef> =>
    content instanceof StoredContent ? content.ref : files.put(content);
  if (request.inputModel && reference) {
    found.push({ where: 'inputModelReference', what: 'and inputModel exclude each other' });
  }
  const model = request.inputModel ? decode('inputModel.content', request.inputModel.content) : null;
  const scripts = request.inputScripts.map(({ content }, at) =>
    decode(`inputScripts[${at}].content`, content),
  );
  const contents = additional.map(({ content }, at) => decode(`additionalFiles[${at}].content`, content));
  const localModel = reference ? localModelOf(reference, found) : null;
  found.push(
    ...additionalFileFaults(
      additional.map(({ filename }) => filename),
      modelPath ?? copiedName(localModel),
    ),
  );
  found.push(...variableFaults(variables));
  const fileCount = (model ? 1 : 0) + scripts.length + contents.length;
  if (fileCount > maxFiles) found.push(tooManyFiles('inputScripts, additionalFiles', maxFiles));
  if (found.length > 0) throw invalidInput(found);
  if (tooLarge) throw tooLarge;

  const job: Job = {
    type: 'EXECUTE_BATCH_JOB',
    model: model && modelPath ? { kind: 'CONTENT', path: modelPath, ...(await keep(model)) } : localModel,
    scripts: await Promise.all(scripts.map((script) => keep(script))),
    additionalFiles: await Promise.all(
      contents.map(async (content, at) => ({
        path: (additional[at] as { filename: string }).filename,
        ...(await keep(content)),
      })),
    ),
    variables: variables.map(({ key, value }) => ({ key, value })),
  };
  const sizeFaults = jobSizeFaults(job);
  if (sizeFaults.length > 0) throw invalidInput(sizeFaults);
  return job;
}

type Reference = NonNullable<ExecuteBatchJobRequest['inputModelReference']>;

function localModelOf({ type, parameters }: Reference, faults: InputFault[]): ModelSource | null {
  if (type === 'INPUT_STORAGE') {
    throw new HubError(
      'INPUT_STORAGE_OFF',
      'inputModelReference.type: the input storage of this hub is not enabled',
    );
  }
  const where = 'inputModelReference.parameters';
  const values = new Map<string, string>();
  for (const [at, { key, value }] of parameters.entries()) {
    if (!LOCAL_PARAMETERS.includes(key)) {
      faults.push({ where: `${where}[${at}].key`, what: `must be one of ${LOCAL_PARAMETERS.join(', ')}` });
    } else if (values.has(key)) {
      faults.push({ where: `${where}[${at}].key`, what: `${key} is given more than once` });
    }
    values.set(key, value);
  }
  const pathToFile = values.get('pathToFile');
  const copy = (values.get('copyFileToWorkingDirectory') ?? 'false').toLowerCase();
  if (pathToFile === undefined) faults.push({ where, what: 'must hold the key pathToFile' });
  else if (!isAbsolute(pathToFile) && !isAbsoluteOnWindows(pathToFile)) {
    faults.push({ where: `${where}: pathToFile`, what: 'must be an absolute path' });
  } else if (pathToFile.includes('\0')) {
    faults.push({ where: `${where}: pathToFile`, what: 'must not contain control characters' });
  }
  if (copy !== 'true' && copy !== 'false') {
    faults.push({ where: `${where}: copyFileToWorkingDirectory`, what: 'must be true or false' });
  }
  return { kind: 'LOCAL_FILESYSTEM', pathToFile: pathToFile ?? '', copyToWorkingDirectory: copy === 'true' };
}

const LOCAL_PARAMETERS = ['pathToFile', 'copyFileToWorkingDirectory'];

/** A drive letter or a UNC path; a single leading backslash is relative to a drive. */
function isAbsoluteOnWindows(path: string): boolean {
  return /^[A-Za-z]:[\\/]/.test(path) || /^\\\\[^\\]/.test(path);
}

/** A referenced model that is copied keeps its own name. */
function copiedName(model: ModelSource | null): string | null {
  if (model?.kind !== 'LOCAL_FILESYSTEM' || !model.copyToWorkingDirectory) return null;
  return win32.basename(model.pathToFile) || null;
}
