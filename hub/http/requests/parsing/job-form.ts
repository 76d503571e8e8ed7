/** A batch job as a form: files as files, all else as texts. */
import { filenameFault } from '../../../core/batch-job.js';
import { invalidInput } from '../../../core/errors.js';
import { StoredBlob } from './body-blob.js';
import type { FormField, FormFile, ReceivedForm } from './form-files.js';
import { type ExecuteBatchJobRequest, executeBatchJobRequest } from './request-schemas.js';
import { validated } from './validation.js';

export const JOB_FORM = {
  script: {
    description: 'Script; several run one after the other, in their order.',
    kind: 'FILE',
    isRequired: true,
    isRepeated: true,
  },
  model: { description: 'The model.', kind: 'FILE' },
  file: {
    description: 'Additional file; its file name is the relative path by which scripts read it.',
    kind: 'FILE',
    isRepeated: true,
  },
  modelType: {
    description: 'Type of the model, such as WBPZ; by default the ending of its file name.',
    kind: 'TEXT',
  },
  storedModel: { description: 'Instead of a model: name of a file in the input storage.', kind: 'TEXT' },
  hostModel: { description: 'Instead of a model: path on the simulation host.', kind: 'TEXT' },
  storedFile: {
    description: 'Additional file of the input storage: `path=name`, or its name alone.',
    kind: 'TEXT',
    isRepeated: true,
  },
  variable: {
    description: 'Variable that the scripts can read: `key=value`.',
    kind: 'TEXT',
    isRepeated: true,
  },
  name: { description: 'Label for the task.', kind: 'TEXT' },
  note: { description: 'Text about the task, for people.', kind: 'TEXT' },
  version: { description: 'Requested version, with the wildcards * and ?.', kind: 'TEXT' },
  labels: { description: 'Requested labels, separated by commas.', kind: 'TEXT' },
  priority: { description: 'HIGHEST, HIGH, NORMAL, LOW or LOWEST.', kind: 'TEXT' },
  timeLimit: { description: 'Longest run in seconds.', kind: 'TEXT' },
} as const;

type Part = keyof typeof JOB_FORM;

const partsOf = (kind: 'FILE' | 'TEXT'): ReadonlySet<string> =>
  new Set(Object.entries(JOB_FORM).flatMap(([name, part]) => (part.kind === kind ? [name] : [])));

export const JOB_FILE_PARTS = partsOf('FILE');
export const JOB_FIELD_PARTS = partsOf('TEXT');

const CLASSIFIER_OF = { version: 'VERSION', labels: 'LABLES', priority: 'PRIORITY' } as const;

/** The request that the form stands for. Throws INVALID_INPUT. */
export function jobOfForm(form: ReceivedForm): ExecuteBatchJobRequest {
  const parts = new FormParts(form);
  const [name, note, timeLimit] = [parts.text('name'), parts.text('note'), parts.text('timeLimit')];
  if (parts.files('script').length === 0)
    throw invalidInput([{ where: 'script', what: 'is required: a file' }]);
  const classifiers = Object.entries(CLASSIFIER_OF).flatMap(([part, type]) => {
    const value = parts.text(part as keyof typeof CLASSIFIER_OF);
    return value === undefined ? [] : [{ type, value }];
  });
  return validated(executeBatchJobRequest, {
    ...(name === undefined ? {} : { name }),
    ...(note === undefined ? {} : { note }),
    ...(timeLimit === undefined
      ? {}
      : { timeLimit: /^\d{1,15}$/.test(timeLimit) ? Number(timeLimit) : timeLimit }),
    classifiers,
    ...modelOf(parts),
    inputScripts: parts
      .files('script')
      .map((script) => ({ content: contentOf(script), ...filenameOf(script) })),
    additionalFiles: [
      ...parts.files('file').map((file) => ({ filename: file.fileName, content: contentOf(file) })),
      ...parts.texts('storedFile').map(storedFileOf),
    ],
    variablesToInject: parts.texts('variable').map(variableOf),
  });
}

function modelOf(parts: FormParts): object {
  const [model, ...others] = parts.files('model');
  if (others.length > 0) throw givenTwice('model');
  const [stored, host, type] = [parts.text('storedModel'), parts.text('hostModel'), parts.text('modelType')];
  if ([model, stored, host].filter((each) => each !== undefined).length > 1)
    throw invalidInput([{ where: 'model', what: 'storedModel and hostModel exclude each other' }]);
  if (stored !== undefined) return reference('INPUT_STORAGE', 'name', stored);
  if (host !== undefined) return reference('LOCAL_FILESYSTEM', 'pathToFile', host);
  if (model === undefined) return {};
  const ending = /\.([A-Za-z0-9]{1,16})$/.exec(model.fileName)?.[1];
  if (type === undefined && ending === undefined)
    throw invalidInput([
      { where: 'modelType', what: 'is required: the file name of the model has no ending' },
    ]);
  return { inputModel: { type: type ?? ending, content: contentOf(model), ...filenameOf(model) } };
}

function reference(type: string, key: string, value: string): object {
  return { inputModelReference: { type, parameters: [{ key, value }] } };
}

function contentOf({ ref }: FormFile): StoredBlob {
  return new StoredBlob(Promise.resolve(ref));
}

/** The file name of a part for a model or a script. Forms had any before it was kept, so an invalid one is none. */
function filenameOf({ fileName }: FormFile): { filename?: string } {
  return filenameFault(fileName) === undefined ? { filename: fileName } : {};
}

function storedFileOf(text: string): object {
  const at = text.lastIndexOf('=');
  const storageName = text.slice(at + 1);
  return { filename: at < 0 ? storageName : text.slice(0, at), storageName };
}

function variableOf(text: string): object {
  const at = text.indexOf('=');
  if (at < 1) throw invalidInput([{ where: 'variable', what: 'must be like key=value' }]);
  return { key: text.slice(0, at), value: text.slice(at + 1) };
}

/** The parts of a form by name. */
class FormParts {
  readonly #form: ReceivedForm;

  constructor(form: ReceivedForm) {
    this.#form = form;
  }

  files(part: Part): FormFile[] {
    return this.#form.files.filter((each) => each.part === part);
  }

  texts(part: Part): string[] {
    return this.#form.fields.filter((each: FormField) => each.part === part).map(({ value }) => value);
  }

  /** The only text of this name, if there is one. Throws INVALID_INPUT for more. */
  text(part: Part): string | undefined {
    const [text, ...others] = this.texts(part);
    if (others.length > 0) throw givenTwice(part);
    return text;
  }
}

function givenTwice(part: Part) {
  return invalidInput([{ where: part, what: 'must be given once' }]);
}
