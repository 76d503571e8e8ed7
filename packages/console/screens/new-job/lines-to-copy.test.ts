import { expect, it } from 'vitest';
import { type Draft, EMPTY_DRAFT } from './draft.js';
import { commandOf, pythonOf } from './lines-to-copy.js';

const file = (path: string, role: 'MODEL' | 'SCRIPT' | 'FILE') => ({
  id: path,
  path,
  size: 1,
  role,
  content: new Blob(),
});

const DRAFT: Draft = {
  ...EMPTY_DRAFT,
  name: "anna's $(gear)",
  files: [file('gear.xml', 'MODEL'), file('run it.js', 'SCRIPT'), file('mesh/a.stl', 'FILE')],
  variables: [
    { key: 'speed', value: '1500' },
    { key: 'note', value: '"quoted" \\ `x`' },
  ],
  version: '9.*',
  labels: ['gears', 'linux'],
  priority: 'HIGH',
  timeLimitS: '60',
  note: 'softer bearing\n$(second) try',
};

it('gives a command whose words a shell reads as they are meant', () => {
  expect(commandOf(DRAFT, 'http://hub:8080').split(' \\\n  ')).toEqual([
    'WB_URL=http://hub:8080 wb run',
    '--model gear.xml',
    "--script 'run it.js'",
    '--file mesh/a.stl',
    '--var speed=1500',
    '--var \'note="quoted" \\ `x`\'',
    '--label gears',
    '--label linux',
    "--version '9.*'",
    '--priority HIGH',
    '--time-limit 60',
    "--name 'anna'\\''s $(gear)'",
    "--note 'softer bearing\n$(second) try'",
    '--out results',
  ]);
});

it('gives Python with the same values', () => {
  const [imports, , hub, call, ...lines] = pythonOf(DRAFT, 'http://hub:8080').split('\n');
  expect([imports, hub, call, lines.pop()]).toEqual([
    'from workbench_hub import Hub',
    'hub = Hub("http://hub:8080")',
    'result = hub.run(',
    ')',
  ]);
  expect(lines.map((line) => line.trim())).toEqual([
    'model="gear.xml",',
    'script="run it.js",',
    'files=["mesh/a.stl"],',
    'variables={"speed": "1500", "note": "\\"quoted\\" \\\\ `x`"},',
    'labels=["gears", "linux"],',
    'version="9.*",',
    'priority="HIGH",',
    'time_limit=60,',
    'name="anna\'s $(gear)",',
    'note="softer bearing\\n$(second) try",',
    'out="results",',
  ]);
});

it('names a model on the simulation host', () => {
  const draft = { ...EMPTY_DRAFT, hostPath: '/models/gear.wbpz', files: [file('run.js', 'SCRIPT')] };
  expect(commandOf(draft, 'http://hub:8080')).toContain('--model host:/models/gear.wbpz');
  expect(pythonOf(draft, 'http://hub:8080')).toContain('model=HostFile("/models/gear.wbpz"),');
  expect(commandOf(draft, 'http://hub:8080')).not.toContain('--copy-model');
  const copied = { ...draft, isHostModelCopied: true };
  expect(commandOf(copied, 'http://hub:8080')).toContain('\n  --copy-model \\\n');
  expect(pythonOf(copied, 'http://hub:8080')).toContain('model=HostFile("/models/gear.wbpz", copy=True),');
});

it('names the type of a model whose name does not tell it', () => {
  const model = { ...file('gear', 'MODEL'), modelType: 'XML' };
  const draft = { ...DRAFT, files: [model, file('run.js', 'SCRIPT')] };
  expect(commandOf(draft, 'http://hub:8080')).toContain('\n  --model gear \\\n  --model-type XML \\\n');
  expect(pythonOf(draft, 'http://hub:8080')).toContain('\n    model="gear",\n    model_type="XML",\n');
  const named = {
    ...draft,
    files: [{ ...model, path: 'gear.xml', modelType: 'MJCF' }, file('run.js', 'SCRIPT')],
  };
  expect(commandOf(named, 'http://hub:8080')).not.toContain('--model-type');
  expect(pythonOf(named, 'http://hub:8080')).not.toContain('model_type');
});
