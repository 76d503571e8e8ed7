/** Conversion of an execute-batch-job request into a job whose files are in the blob store. */

import { isAbsolute, win32 } from 'node:path';
import type { FileRef, Job, ModelSource, ScriptRef } from '@workbench-hub/shared/domain/job';
import {
  additionalFileErrors,
  jobSizeErrors,
  modelFileName,
  variableErrors,
} from '../../../core/batch-job.js';
import { type HubError, invalidInput, type ValidationError } from '../../../core/errors.js';
import type { BlobStore, Hold } from '../../../core/ports/blobs.js';
import type { Storage } from '../../../engine/storage/storage.js';
import { decodeBase64 } from './base64.js';
import { type FileLimits, fileTooLarge, NOT_BASE64, StoredBlob, tooManyFiles } from './body-blob.js';
import type { ExecuteBatchJobRequest } from './request-schemas.js';
import { NO_FILE, StoredInputs } from './stored-inputs.js';

/** Where files of jobs are, and how much a request may bring. */
export interface JobFiles {
  readonly files: BlobStore;
  readonly storage: Storage;
  readonly limits: FileLimits;
}

/** Checks everything before it stores anything further. Throws INVALID_INPUT with all validation errors, BODY_TOO_LARGE and
 *  INPUT_STORAGE_OFF. The blobs are held by `hold`. */
export async function parseBatchJob(
  request: ExecuteBatchJobRequest,
  ruleErrors: readonly ValidationError[],
  { files, storage, limits }: JobFiles,
  hold: Hold,
): Promise<Job> {
  const checked = await checkedFiles(request, ruleErrors, new StoredInputs(storage, hold), limits);
  const store = (content: Content): Promise<FileRef> =>
    content instanceof StoredBlob ? content.ref : files.put(content, hold);

  // At the same time, so that one transaction stores all.
  const [model, scripts, additionalFiles] = await Promise.all([
    checked.model && store(checked.model),
    Promise.all(checked.scripts.map((script) => store(script))),
    Promise.all(checked.additionalFiles.map((content) => ('digest' in content ? content : store(content)))),
  ]);
  const { modelPath, referencedModel: referenced, paths } = checked;
  const job: Job = {
    type: 'EXECUTE_BATCH_JOB',
    model:
      model && modelPath
        ? { kind: 'BLOB', path: modelPath, ...model, ...filenameOf(request.inputModel) }
        : referenced,
    scripts: scripts.map((script, at) => ({ ...script, ...filenameOf(request.inputScripts[at]) })),
    additionalFiles: additionalFiles.map((file, at) => ({ path: paths[at] as string, ...file })),
    variables: (request.variablesToInject ?? []).map(({ key, value }) => ({ key, value })),
  };
  const sizeErrors = jobSizeErrors(job);
  if (sizeErrors.length > 0) throw invalidInput(sizeErrors);
  return job;
}

/** A file that the request brings: decoded, or in the blob store already. */
type Content = Buffer | StoredBlob;

/** Files of a request that has no validation errors. */
interface CheckedFiles {
  readonly model: Content | null;
  /** Name of the model in the working directory; null for none, or for one that is read in place. */
  readonly modelPath: string | null;
  readonly referencedModel: ModelSource | null;
  readonly scripts: readonly Content[];
  readonly additionalFiles: readonly (Content | FileRef)[];
  /** Paths of the additional files. */
  readonly paths: readonly string[];
}

async function checkedFiles(
  request: ExecuteBatchJobRequest,
  ruleErrors: readonly ValidationError[],
  inputs: StoredInputs,
  { maxFileBytes, maxFiles }: FileLimits,
): Promise<CheckedFiles> {
  const { inputModel, inputModelReference: reference, inputScripts } = request;
  const additional = request.additionalFiles ?? [];
  const errors: ValidationError[] = [...ruleErrors];
  const decoder = new ContentDecoder(maxFileBytes, errors);
  if (inputModel && reference) {
    errors.push({ where: 'inputModelReference', what: 'and inputModel exclude each other' });
  }
  const model = inputModel ? decoder.decode('inputModel.content', inputModel.content) : null;
  const scripts = inputScripts.map(({ content }, at) =>
    decoder.decode(`inputScripts[${at}].content`, content),
  );
  const additionalFiles = await additionalContents(additional, decoder, inputs, errors);
  const referenced = reference ? await referencedModel(reference, inputs, errors) : null;
  const modelPath = inputModel ? modelFileName(inputModel.type) : stagedName(referenced);
  const paths = additional.map(({ filename }) => filename);
  errors.push(...additionalFileErrors(paths, modelPath), ...variableErrors(request.variablesToInject ?? []));
  const modelFiles = model || referenced?.kind === 'BLOB' ? 1 : 0;
  if (modelFiles + scripts.length + additionalFiles.length > maxFiles)
    errors.push(tooManyFiles('inputScripts, additionalFiles', maxFiles));
  if (errors.length > 0) throw invalidInput(errors);
  if (decoder.tooLarge) throw decoder.tooLarge;
  return { model, modelPath, referencedModel: referenced, scripts, additionalFiles, paths };
}

/** Decodes the contents of files, and notes what is wrong with them. */
class ContentDecoder {
  readonly #maxFileBytes: number;
  readonly #errors: ValidationError[];
  #tooLarge: HubError | undefined;

  constructor(maxFileBytes: number, errors: ValidationError[]) {
    this.#maxFileBytes = maxFileBytes;
    this.#errors = errors;
  }

  /** Refusal of the first file that is too large; undefined without one. */
  get tooLarge(): HubError | undefined {
    return this.#tooLarge;
  }

  /** Content of a file; an empty one, with a validation error, for what is not Base64. */
  decode(where: string, text: string | StoredBlob): Content {
    if (text instanceof StoredBlob) return text;
    const content = decodeBase64(text);
    if (!content) this.#errors.push({ where, what: NOT_BASE64 });
    else if (content.length > this.#maxFileBytes) this.#tooLarge ??= fileTooLarge(where, this.#maxFileBytes);
    return content ?? Buffer.alloc(0);
  }
}

/** Contents of the additional files, and what the input storage has for the others; none for those with a validation error. */
async function additionalContents(
  additional: NonNullable<ExecuteBatchJobRequest['additionalFiles']>,
  decoder: ContentDecoder,
  inputs: StoredInputs,
  errors: ValidationError[],
): Promise<(Content | FileRef)[]> {
  const contents: (Content | FileRef)[] = [];
  for (const [at, file] of additional.entries()) {
    const where = `additionalFiles[${at}]`;
    // Null means absent, as elsewhere.
    const content = file.content ?? undefined;
    const storageName = file.storageName ?? undefined;
    if (content !== undefined && storageName !== undefined) {
      errors.push({ where: `${where}.storageName`, what: 'and content exclude each other' });
    } else if (content !== undefined) contents.push(decoder.decode(`${where}.content`, content));
    else if (storageName !== undefined) {
      contents.push(await inputs.find(storageName, `${where}.storageName`, errors));
    } else errors.push({ where: `${where}.content`, what: 'is required, or storageName in its place' });
  }
  return contents;
}

/** The name of a model or a script, if it has one. */
function filenameOf(
  given: { readonly filename?: string | null | undefined } | null | undefined,
): Pick<ScriptRef, 'filename'> {
  const filename = given?.filename ?? undefined;
  return filename === undefined ? {} : { filename };
}

type Reference = NonNullable<ExecuteBatchJobRequest['inputModelReference']>;

const WHERE = 'inputModelReference.parameters';

async function referencedModel(
  { type, parameters, filename }: Reference,
  inputs: StoredInputs,
  errors: ValidationError[],
): Promise<ModelSource> {
  if (type === 'LOCAL_FILESYSTEM') {
    if (typeof filename === 'string') {
      errors.push({ where: 'inputModelReference.filename', what: 'and LOCAL_FILESYSTEM exclude each other' });
    }
    return localModelOf(parametersOf(parameters, LOCAL_PARAMETERS, errors), errors);
  }
  inputs.refuseWhileOff();
  const name = parametersOf(parameters, STORAGE_PARAMETERS, errors).get('name');
  if (name === undefined) errors.push({ where: WHERE, what: 'must hold the key name' });
  const file = name === undefined ? NO_FILE : await inputs.find(name, `${WHERE}: name`, errors);
  return { kind: 'BLOB', path: name ?? '', ...file, ...filenameOf({ filename }) };
}

/** Values of these keys; any other key, or one given twice, is a validation error. */
function parametersOf(
  parameters: Reference['parameters'],
  known: readonly string[],
  errors: ValidationError[],
): Map<string, string> {
  const values = new Map<string, string>();
  for (const [at, { key, value }] of parameters.entries()) {
    if (!known.includes(key)) {
      errors.push({ where: `${WHERE}[${at}].key`, what: `must be one of ${known.join(', ')}` });
    } else if (values.has(key)) {
      errors.push({ where: `${WHERE}[${at}].key`, what: `${key} is given more than once` });
    }
    values.set(key, value);
  }
  return values;
}

function localModelOf(values: ReadonlyMap<string, string>, errors: ValidationError[]): ModelSource {
  const pathToFile = values.get('pathToFile');
  const copy = (values.get('copyFileToWorkingDirectory') ?? 'false').toLowerCase();
  if (pathToFile === undefined) errors.push({ where: WHERE, what: 'must hold the key pathToFile' });
  else if (!isAbsolute(pathToFile) && !isAbsoluteOnWindows(pathToFile)) {
    errors.push({ where: `${WHERE}: pathToFile`, what: 'must be an absolute path' });
  } else if (pathToFile.includes('\0')) {
    errors.push({ where: `${WHERE}: pathToFile`, what: 'must not contain control characters' });
  }
  if (copy !== 'true' && copy !== 'false') {
    errors.push({ where: `${WHERE}: copyFileToWorkingDirectory`, what: 'must be true or false' });
  }
  return { kind: 'LOCAL_FILESYSTEM', pathToFile: pathToFile ?? '', copyToWorkingDirectory: copy === 'true' };
}

const LOCAL_PARAMETERS = ['pathToFile', 'copyFileToWorkingDirectory'];
const STORAGE_PARAMETERS = ['name'];

/** A drive letter or a UNC path; a single leading backslash is relative to a drive. */
function isAbsoluteOnWindows(path: string): boolean {
  return /^[A-Za-z]:[\\/]/.test(path) || /^\\\\[^\\]/.test(path);
}

/** Name of the model in the working directory; null for one that is read in place. */
function stagedName(model: ModelSource | null): string | null {
  if (model?.kind === 'BLOB') return model.path || null;
  if (!model?.copyToWorkingDirectory) return null;
  return win32.basename(model.pathToFile) || null;
}
