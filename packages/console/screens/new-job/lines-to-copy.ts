/** The same job on the command line and in Python, with the names of its files. */
import { modelTypeOfName } from '@workbench-hub/client';
import type { Draft, DraftFile, FileRole } from './draft.js';

/** The command `wb run` with this job. */
export function commandOf(draft: Draft, hubUrl: string): string {
  const { name, note, variables, version, labels, priority, timeLimitS } = draft;
  const of = (role: FileRole) => draft.files.filter((file) => file.role === role);
  const hostModel = of('MODEL').length === 0 && draft.hostPath !== '';
  const options = [
    ...of('MODEL').map(({ path }) => ['--model', path]),
    ...of('MODEL').flatMap((file) => furtherTypeOf(file).map((type) => ['--model-type', type])),
    ...(hostModel ? [['--model', `host:${draft.hostPath}`]] : []),
    ...(hostModel && draft.isHostModelCopied ? [['--copy-model']] : []),
    ...of('SCRIPT').map(({ path }) => ['--script', path]),
    ...of('FILE').map(({ path }) => ['--file', path]),
    ...variables.filter(({ key }) => key !== '').map(({ key, value }) => ['--var', `${key}=${value}`]),
    ...labels.map((label) => ['--label', label]),
    ...(version === '' ? [] : [['--version', version]]),
    ...(priority === 'NORMAL' ? [] : [['--priority', priority]]),
    ...(timeLimitS === '' ? [] : [['--time-limit', timeLimitS]]),
    ...(name === '' ? [] : [['--name', name]]),
    ...(note === '' ? [] : [['--note', note]]),
    ['--out', 'results'],
  ];
  const words = options.map(([option, ...values]) => [option, ...values.map(shellWord)].join(' '));
  return [`WB_URL=${shellWord(hubUrl)} wb run`, ...words].join(' \\\n  ');
}

/** A call of `workbench_hub` with this job. */
export function pythonOf(draft: Draft, hubUrl: string): string {
  const { name, note, variables, version, labels, priority, timeLimitS } = draft;
  const of = (role: FileRole) => draft.files.filter((file) => file.role === role).map(({ path }) => path);
  const [model] = of('MODEL');
  const modelTypes = draft.files.filter(({ role }) => role === 'MODEL').flatMap(furtherTypeOf);
  const used = variables.filter(({ key }) => key !== '');
  const list = (texts: readonly string[]) => `[${texts.map(pythonText).join(', ')}]`;
  const hostModel = model === undefined ? hostModelOf(draft) : [];
  const lines = [
    ...(model === undefined ? [] : [`model=${pythonText(model)}`]),
    ...modelTypes.map((type) => `model_type=${pythonText(type)}`),
    ...hostModel.map((each) => `model=${each}`),
    `script=${of('SCRIPT').length === 1 ? pythonText(of('SCRIPT')[0] ?? '') : list(of('SCRIPT'))}`,
    ...(of('FILE').length === 0 ? [] : [`files=${list(of('FILE'))}`]),
    ...(used.length === 0
      ? []
      : [
          `variables={${used.map(({ key, value }) => `${pythonText(key)}: ${pythonText(value)}`).join(', ')}}`,
        ]),
    ...(labels.length === 0 ? [] : [`labels=${list(labels)}`]),
    ...(version === '' ? [] : [`version=${pythonText(version)}`]),
    ...(priority === 'NORMAL' ? [] : [`priority=${pythonText(priority)}`]),
    ...(timeLimitS === '' ? [] : [`time_limit=${timeLimitS}`]),
    ...(name === '' ? [] : [`name=${pythonText(name)}`]),
    ...(note === '' ? [] : [`note=${pythonText(note)}`]),
    'out="results"',
  ];
  return [
    `from workbench_hub import ${hostModel.length > 0 ? 'HostFile, ' : ''}Hub`,
    '',
    `hub = Hub(${pythonText(hubUrl)})`,
    'result = hub.run(',
    ...lines.map((line) => `    ${line},`),
    ')',
  ].join('\n');
}

/** Type of a model of an earlier task, unless its name tells it. */
function furtherTypeOf({ path, modelType }: DraftFile): readonly string[] {
  return modelType === undefined || modelType === modelTypeOfName(path) ? [] : [modelType];
}

/** The model on the simulation host in Python, if there is one. */
function hostModelOf({ hostPath, isHostModelCopied }: Draft): readonly string[] {
  if (hostPath === '') return [];
  return [`HostFile(${pythonText(hostPath)}${isHostModelCopied ? ', copy=True' : ''})`];
}

/** A word that no shell reads otherwise. */
function shellWord(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** JSON's texts are Python's. */
function pythonText(text: string): string {
  return JSON.stringify(text);
}
