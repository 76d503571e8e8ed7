/** Jobs that are run for the screenshots. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../bench/subjects/hub.js';

export interface JobToRun {
  readonly name: string;
  readonly scripts: readonly string[];
  readonly version: string;
  readonly label: string;
  readonly model?: { readonly type: string; readonly content: string };
  readonly variables?: Readonly<Record<string, string>>;
}

function quickstartFile(name: string): string {
  return readFileSync(join(ROOT, 'deploy/quickstart', name), 'utf8');
}

/** The job of the quickstart, with plots among its outputs. */
export const sliderCrank = (rpm: number): JobToRun => ({
  name: `slider-crank at ${rpm} rpm`,
  model: { type: 'MJCF', content: quickstartFile('slider-crank.xml') },
  scripts: [quickstartFile('simulate.js'), quickstartFile('report.js')],
  variables: { crankSpeedRpm: String(rpm), simulatedSeconds: '5' },
  version: '3.*',
  label: 'multibody',
});

/** Leaves a model in 3-D, and a table. */
export const spurGear: JobToRun = {
  name: 'spur gear, 24 teeth',
  version: '9.*',
  label: 'gears',
  variables: { teeth: '24', module_mm: '2.5' },
  scripts: [
    `const { writeFileSync } = require('node:fs');
const count = Number(teeth), pitch = count * Number(module_mm) / 2, width = 14;
const outline = [];
for (let tooth = 0; tooth < count; tooth++)
  for (const [part, reach] of [[0, -1.25], [0.2, -1.25], [0.32, 1], [0.62, 1], [0.74, -1.25]]) {
    const angle = 2 * Math.PI * (tooth + part) / count, radius = pitch + reach * Number(module_mm);
    outline.push([radius * Math.cos(angle), radius * Math.sin(angle)]);
  }
const bore = outline.map(([x, y]) => { const r = Math.hypot(x, y); return [x / r * pitch * 0.35, y / r * pitch * 0.35]; });
const triangles = [];
const quad = (a, b, c, d) => triangles.push([a, b, c], [a, c, d]);
outline.forEach((p, at) => {
  const q = outline[(at + 1) % outline.length], i = bore[at], j = bore[(at + 1) % bore.length];
  quad([...p, 0], [...q, 0], [...q, width], [...p, width]);
  quad([...j, 0], [...i, 0], [...i, width], [...j, width]);
  quad([...p, width], [...q, width], [...j, width], [...i, width]);
  quad([...q, 0], [...p, 0], [...i, 0], [...j, 0]);
});
writeFileSync('gear.stl', 'solid gear\\n' + triangles.map((corners) => 'facet normal 0 0 0\\nouter loop\\n'
  + corners.map((corner) => 'vertex ' + corner.map((value) => value.toFixed(4)).join(' ') + '\\n').join('') + 'endloop\\nendfacet\\n').join('') + 'endsolid gear\\n');
println('gear.stl:', triangles.length, 'triangles');
let table = 'angle_deg,contact_stress_MPa,transmission_error_um\\n';
for (let angle = 0; angle < 360; angle += 0.5)
  table += [angle, (820 + 140 * Math.abs(Math.sin(angle * count / 114.6))).toFixed(1), (3.2 * Math.sin(angle * count / 57.3)).toFixed(3)].join(',') + '\\n';
writeFileSync('contact.csv', table);
println('\\u001b[32mdone\\u001b[0m: largest contact stress 960.0 MPa');`,
  ],
};

/** Fails with a log that says why. */
export const failing: JobToRun = {
  name: 'bevel gear contact, mesh 7',
  version: '9.*',
  label: 'gears',
  variables: { friction: '0.12', mesh: '7' },
  scripts: [
    `let residual = 1;
for (let iteration = 1; iteration <= 40; iteration++) {
  residual *= iteration < 12 ? 0.6 : 0.99 + 0.03 * Math.abs(Math.sin(iteration));
  const note = iteration > 20 ? '\\u001b[33m  stalls\\u001b[0m' : '';
  println('iteration ' + String(iteration).padStart(2) + '  residual ' + residual.toExponential(3) + '  contacts ' + (312 + iteration % 5) + note);
}
println('\\u001b[31mno convergence after 40 iterations\\u001b[0m; the last residual is ' + residual.toExponential(3));
throw new Error('no convergence after 40 iterations');`,
  ],
};

/** Runs and prints until the gate is there. */
export const running = (gate: string): JobToRun => ({
  name: 'helical gear, 3 h of load cycles',
  version: '9.*',
  label: 'gears',
  variables: { load_Nm: '340', cycles: '2.4e6', gate },
  scripts: [
    `const { existsSync } = require('node:fs');
println('\\u001b[1mload cycles\\u001b[0m: 340 N m, 2.4e6 cycles, 312 contacts');
let cycle = 0;
const timer = setInterval(() => {
  for (let line = 0; line < 4; line++) {
    cycle += 250;
    const wear = (cycle * 1.7e-6).toFixed(5);
    println('cycle ' + String(cycle).padStart(8) + '  wear ' + wear + ' mm  temperature ' + (61 + 4 * Math.sin(cycle / 3000)).toFixed(1) + ' °C'
      + (cycle % 5000 === 0 ? '  \\u001b[36mcheckpoint\\u001b[0m' : ''));
  }
  if (existsSync(gate)) clearInterval(timer);
}, 250);`,
  ],
});

/** A study whose points finish, fail, or miss their condition. */
export const gearStudy = {
  name: 'spur gear, tooth contact',
  note: 'Which module carries the load without wear?',
  variables: [
    { name: 'module_mm', unit: 'mm' },
    { name: 'load_Nm', unit: 'N m' },
    { name: 'friction', scale: 'LOGARITHMIC' },
  ],
  plan: {
    kind: 'GRID',
    levels: [
      { variable: 'module_mm', from: 2, to: 5, count: 4 },
      { variable: 'load_Nm', values: [100, 250, 400] },
      { variable: 'friction', values: [0.02, 0.12, 0.3] },
    ],
  },
  values: ['stress', 'wear', 'temperature'].map((name, at) => ({
    name,
    unit: ['MPa', 'um', '°C'][at],
    source: { kind: 'FILE', path: 'contact.json' },
    reader: { kind: 'JSON_PATH', path: `$.${name}` },
  })),
  success: [{ value: 'stress', upper: 2200 }],
  version: '9.*',
  label: 'gears',
  scripts: [
    `const { writeFileSync } = require('node:fs');
const [m, load, mu] = [module_mm, load_Nm, friction].map(Number);
if (mu > 0.2 && load > 300 && m < 4) throw new Error('no convergence after 40 iterations');
const stress = 340 * Math.sqrt(load) / m * (1 + mu);
const result = { stress, wear: (stress / 1000) ** 3 * mu * 12, temperature: 40 + load * mu * 0.9 };
writeFileSync('contact.json', JSON.stringify(result));
println('largest contact stress', stress.toFixed(1), 'MPa');`,
  ],
};
