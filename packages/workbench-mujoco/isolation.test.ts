/**
 * Jobs of the real program, one after the other: what one leaves behind must not reach the next. With `--isolation none` the
 * same jobs meet the same thread again, and each trace is seen there, so that no test passes by itself.
 */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import loadMujoco, { type MainModule } from '@mujoco/mujoco';
import { RPC_ERROR } from '@workbench-hub/shared/instance-protocol/messages';
import {
  type JobFolder,
  type JobOfTest,
  layOutJob,
  type ProgramUnderTest,
  startProgram,
} from '@workbench-hub/shared/instance-protocol/program-under-test';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Isolation } from './isolation.js';
import { WALK } from './realm-walk.js';
import { needsNode } from './script-needs.js';

const MUJOCO = fileURLToPath(new URL('bin/workbench-mujoco.js', import.meta.url));
const MODEL = {
  name: 'model.mjcf',
  content: `<mujoco><worldbody><body name="bob"><joint type="hinge" axis="0 1 0"/>
    <geom size="0.05" pos="0 0 -1"/></body></worldbody></mujoco>`,
};
const SWING = 'data.qpos[0] = 0.01; for (let i = 0; i < 100; i++) mujoco.mj_step(model, data);';

interface Trace {
  title: string;
  /** Script that leaves the trace. */
  leave: string;
  /** Script that prints what it finds. */
  look: string;
  /** Environment of the first job. */
  environment?: Record<string, string>;
}

/** Traces of scripts that need nothing of Node.js, so that with realms the thread is kept. */
const TRACES: Trace[] = [
  { title: 'a global', leave: 'trace = 1;', look: 'println(typeof trace)' },
  { title: 'a declared global', leave: 'globalThis.kept = [1, 2];', look: 'println(typeof kept)' },
  {
    title: 'a property of a prototype',
    leave: 'Object.prototype.trace = 1; Array.prototype.other = 2;',
    look: 'println({}.trace, [].other)',
  },
  {
    title: 'a patched built-in function',
    leave: 'Math.sin = () => 7; JSON.stringify = () => "patched"; Date.now = () => 0;',
    look: 'println(Math.sin(0), JSON.stringify([1]), Date.now() > 0)',
  },
  {
    title: 'a patched function that the simulator uses',
    leave:
      'String.fromCharCode = () => "x"; Uint8Array.prototype.subarray = () => { throw new Error("patched") };',
    look: 'println(String.fromCharCode(65), new Uint8Array(3).subarray(1).length)',
  },
  {
    title: 'a patched function of promises',
    leave: 'Promise.all = () => 3;',
    look: 'println(typeof Promise.all([]))',
  },
  {
    title: 'a frozen built-in object',
    leave: 'Object.freeze(Array.prototype); Object.preventExtensions(globalThis.Reflect);',
    look: 'println(Object.isFrozen(Array.prototype), Object.isExtensible(Reflect))',
  },
  {
    title: 'a setting of errors',
    leave: 'Error.stackTraceLimit = 0; Error.prepareStackTrace = () => "patched";',
    look: 'println(new Error("x").stack.length > 20, Error.prepareStackTrace)',
  },
  {
    title: 'a replaced function of the simulator',
    leave: 'mujoco.mj_step = () => undefined;',
    look: 'const before = data.time; mujoco.mj_step(model, data); println(data.time > before)',
  },
  {
    title: 'a patched class of the simulator',
    leave:
      'mujoco.MjData.prototype.trace = 1; Object.getPrototypeOf(mujoco.MjData.prototype).delete = () => undefined;',
    look: 'println(data.trace, String(data.delete).length > 40)',
  },
  {
    title: 'memory that is not freed',
    leave: 'for (let i = 0; i < 20; i++) new mujoco.MjData(model);',
    look: 'println(new mujoco.MjData(model).$$.ptr)',
  },
  {
    title: 'grown memory of the simulator',
    leave:
      'for (let i = 0; i < 10; i++) new mujoco.MjData(mujoco.MjModel.from_xml_string(`<mujoco><size memory="8M"/></mujoco>`));',
    look: 'println(data.qpos.buffer.byteLength)',
  },
  {
    title: 'overwritten memory of the simulator',
    leave: 'new Uint8Array(data.qpos.buffer).fill(0);',
    look: `${SWING} println(data.qpos[0])`,
  },
  {
    title: 'a deleted model',
    leave:
      'data.delete(); model.delete(); try { model.delete() } catch {} mujoco.MjModel.prototype.delete = 1;',
    look: 'println(typeof model.delete)',
  },
  {
    title: 'a file in the memory of the simulator',
    leave: 'mujoco.FS.mkdir("/trace"); mujoco.FS.writeFile("/trace/a.txt", "a");',
    look: 'println(mujoco.FS.analyzePath("/trace/a.txt").exists)',
  },
  {
    title: 'an open file of the simulator',
    leave: 'mujoco.FS.open("/dev/null", "r"); mujoco.FS.open("/dev/null", "r");',
    look: 'println(mujoco.FS.open("/dev/null", "r").fd)',
  },
  {
    title: 'a variable of the environment',
    leave: 'process.env.TRACE = "1";',
    look: 'println(process.env.TRACE)',
  },
  {
    title: 'a variable of the environment of the job',
    leave: '',
    look: 'println(process.env.OF_JOB)',
    environment: { OF_JOB: 'mine' },
  },
  {
    title: 'a replaced console',
    leave: 'console.log = () => println("patched"); println = print;',
    look: 'console.log("fine"); println("fine");',
  },
];

/** Traces of scripts that use Node.js. */
const TRACES_IN_NODE: Trace[] = [
  {
    title: 'a patched module of Node.js',
    leave: "require('node:fs').readFileSync = () => 'patched';",
    look: "println(String(require('node:fs').readFileSync).includes('patched'))",
  },
  {
    title: 'an entry of the module cache',
    leave: "require.cache['/trace.js'] = { exports: 1, loaded: true };",
    look: "println('/trace.js' in require.cache)",
  },
  {
    title: 'a listener',
    leave: "process.on('exit', () => undefined); process.on('trace', () => undefined);",
    look: "println(process.listenerCount('trace'))",
  },
  { title: 'a patched global', leave: 'Buffer.from = () => 1;', look: "println(Buffer.from('a').length)" },
  {
    title: 'a global of an earlier job in a realm',
    leave: 'globalThis.trace = 1; Array.prototype.other = 2;',
    look: 'println(typeof trace, [].other, typeof require)',
  },
];

/** Prints the state of the pendulum, bit by bit. */
const RESULT = `${SWING}
  println([...new BigUint64Array(new Float64Array([data.qpos[0], data.qvel[0], data.time]).buffer)].map((bits) => bits.toString(16)).join(' '))`;

/** Lists what the simulator offers. Names that only say that the build lacks them are left out. */
const NAMES = `
  const about = (value) => typeof value + (typeof value === 'function' ? [value.length, value.name, value.argCount] : '');
  const lines = [];
  for (const name of Object.getOwnPropertyNames(mujoco).sort()) {
    let value;
    try { value = mujoco[name] } catch { continue }
    lines.push(name + ' ' + about(value));
    if (typeof value !== 'function') continue;
    for (const key of Object.getOwnPropertyNames(value).sort()) lines.push('  static ' + key + ' ' + about(value[key]));
    for (const key of Object.keys(value.values ?? {})) lines.push('  value ' + key);
    for (const key of Object.getOwnPropertyNames(value.prototype ?? {}).sort()) {
      const { value: held, get, set, enumerable, configurable } = Object.getOwnPropertyDescriptor(value.prototype, key);
      lines.push('  member ' + [key, about(held), typeof get, typeof set, enumerable, configurable]);
    }
  }
  writeFile('names.txt', lines.join('\\n'));`;

describe.each<Isolation>(['thread', 'realm', 'none'])('with isolation %s', (isolation) => {
  let mujoco: ProgramUnderTest;
  const folders: JobFolder[] = [];
  beforeAll(async () => {
    mujoco = await startProgram([process.execPath, MUJOCO, '--isolation', isolation]);
  });
  afterAll(async () => {
    await mujoco.shutdown();
    for (const folder of folders) await folder.remove();
  });

  const layOut = async (job: JobOfTest) => {
    const folder = await layOutJob(job);
    folders.push(folder);
    return folder;
  };
  const printedBy = ({ params }: JobFolder) =>
    mujoco.outputs
      .filter(({ taskId }) => taskId === params.taskId)
      .map(({ text }) => text)
      .join('');
  /** Runs a job; resolves with its output and, unless it succeeded, its end. */
  const run = async (job: JobOfTest) => {
    const folder = await layOut(job);
    const ended = await mujoco.host.executeBatchJob(folder.params).then(
      ({ status, message }) => (status === 'OK' ? '' : `${message}`),
      (error: Error) => error.message,
    );
    return printedBy(folder) + ended;
  };
  it.each([...TRACES, ...TRACES_IN_NODE])(
    `${isolation === 'none' ? 'meets' : 'does not meet'} what another job left: $title`,
    async ({ leave, look, environment = {} }) => {
      // A job that leaves a timer makes the program replace the thread, also without isolation.
      if (isolation === 'none') await run({ scripts: ['setInterval(() => {}, 1000); process.exit(0);'] });
      const lookJob = { model: MODEL, scripts: [look] };
      const before = await run(lookJob);
      await run({ model: MODEL, scripts: [leave], environment });
      const after = await run(lookJob);
      if (isolation === 'none') expect(after).not.toBe(before);
      else expect(after).toBe(before);
    },
  );

  it('computes the same as a direct run, bit by bit, after any other job', async () => {
    const direct = await resultOfDirectRun();
    const others = [
      SWING,
      'for (let i = 0; i < 50; i++) new mujoco.MjData(model);',
      'data.qvel[0] = NaN; mujoco.mj_step(model, data);',
      'mujoco.mj_step(null, null)',
      'model.opt.timestep = 0.5; model.opt.gravity[2] = 9;',
      'throw new Error("left")',
    ];
    for (const other of others) {
      await run({ model: MODEL, scripts: [other] });
      expect(await run({ model: MODEL, scripts: [RESULT] })).toBe(`${direct}\n`);
    }
  });
});

/** Result of a loop over the simulator, without the program. */
async function resultOfDirectRun(): Promise<string> {
  const mujoco: MainModule = await loadMujoco();
  const model = mujoco.MjModel.from_xml_string(MODEL.content);
  const data = new mujoco.MjData(model);
  data.qpos[0] = 0.01;
  for (let step = 0; step < 100; step++) mujoco.mj_step(model, data);
  const state = new Float64Array([data.qpos[0], data.qvel[0], data.time]);
  return [...new BigUint64Array(state.buffer)].map((bits) => bits.toString(16)).join(' ');
}

describe('with realms', () => {
  let mujoco: ProgramUnderTest;
  const folders: JobFolder[] = [];
  beforeAll(async () => {
    mujoco = await startProgram([process.execPath, MUJOCO]);
  });
  afterAll(async () => {
    await mujoco.shutdown();
    for (const folder of folders) await folder.remove();
  });
  const run = async (job: JobOfTest) => {
    const folder = await layOutJob(job);
    folders.push(folder);
    const result = await mujoco.host.executeBatchJob(folder.params);
    const printed = mujoco.outputs.filter(
      ({ taskId, stream }) => taskId === folder.params.taskId && stream === 'stdout',
    );
    return { folder, result, printed: printed.map(({ text }) => text).join('') };
  };

  it('lets a script reach no object of the thread', async () => {
    const { result, printed } = await run({ model: MODEL, scripts: [WALK] });
    expect({ result, printed }).toMatchObject({
      result: { status: 'OK' },
      printed: expect.stringMatching(/^foreign: \nobjects: \d{4,} true\n$/),
    });
  });

  /** Threads of the program, by their numbers in the system. */
  const threads = () => readdirSync(`/proc/${mujoco.pid}/task`).sort().join();

  it.skipIf(process.platform !== 'linux')(
    'keeps the thread for all scripts that need nothing of Node.js',
    async () => {
      await run({ model: MODEL, scripts: [SWING] });
      const before = threads();
      const others = TRACES.filter(({ leave }) => !needsNode(leave));
      expect(others.length).toBeGreaterThan(15);
      for (const { leave } of others) await run({ model: MODEL, scripts: [leave] });
      expect((await run({ model: MODEL, scripts: [RESULT] })).printed).toBe(`${await resultOfDirectRun()}\n`);
      expect(threads()).toBe(before);
      await run({ model: MODEL, scripts: ["require('node:fs')"] });
      expect(threads()).not.toBe(before);
      expect(mujoco.log()).toBe('');
    },
  );

  it.each([
    ['is killed in an endless loop', "println('begun'); for (;;);"],
    ['is killed in an endless simulation', "println('begun'); for (;;) mujoco.mj_step(model, data);"],
    ['is killed in endless promises', "println('begun'); for (;;) await undefined;"],
  ])('computes the same after a job that %s', async (_, script) => {
    const folder = await layOutJob({ model: MODEL, scripts: [script] });
    folders.push(folder);
    const running = mujoco.host.executeBatchJob(folder.params);
    running.catch(() => undefined);
    await expect
      .poll(() => mujoco.outputs.some(({ taskId }) => taskId === folder.params.taskId), {
        interval: 10,
        timeout: 60_000,
      })
      .toBe(true);
    await mujoco.host.cancel(folder.params.taskId);
    await expect(running).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
    expect((await run({ model: MODEL, scripts: [RESULT] })).printed).toBe(`${await resultOfDirectRun()}\n`);
  });

  it.each([
    [
      'Node.js in its text',
      "println(typeof require('node:fs').readFileSync, typeof setTimeout)",
      'function function',
    ],
    [
      'nothing of Node.js',
      'println(this === undefined, typeof model, [1] instanceof Array)',
      'false object true',
    ],
    [
      'an own error',
      "try { readFile('none') } catch (error) { println(error instanceof Error, error.code) }",
      'true ENOENT',
    ],
    ['typed arrays of the simulator', 'println(data.qpos instanceof Float64Array)', 'true'],
    [
      'names of the simulator',
      "println(Object.keys(mujoco).length > 500, 'qpos' in data, 'none' in data)",
      'true true false',
    ],
    [
      'values of all kinds',
      "println({ a: [1, 'b'] }, new Map([[1, 2]]), null); console.log('%s is %d', 'x', 1.5, [1])",
      "{ a: [ 1, 'b' ] } Map(1) { 1 => 2 } null\nx is 1.5 [ 1 ]",
    ],
    ['two promises that reject unhandled', "Promise.reject(1); Promise.reject(2); println('ran')", 'ran'],
    [
      'a full stack',
      'const down = () => { try { return down() } catch (error) { return error instanceof RangeError } }; println(down())',
      'true',
    ],
  ])('runs a script with %s', async (_, script, expected) => {
    const { printed } = await run({ model: MODEL, scripts: [script] });
    expect(printed).toBe(`${expected}\n`);
  });

  it('gives scripts the same simulator as a thread of their own', async () => {
    const inRealm = await run({ scripts: [NAMES] });
    const inThread = await run({ scripts: [`// require\n${NAMES}`] });
    expect(inRealm.result).toMatchObject({ status: 'OK' });
    const names = await inRealm.folder.read('names.txt');
    expect(names.split('\n').length).toBeGreaterThan(3000);
    expect(names).toBe(await inThread.folder.read('names.txt'));
  });

  it('says of a job in a realm that it started no process, and of no other', async () => {
    await run({ scripts: ['// require'] });
    // It uses up what was prepared for another such job.
    await run({ scripts: ['println()'] });
    const inRealm = await run({ model: MODEL, scripts: [SWING] });
    expect(inRealm.result).toEqual({ status: 'OK', startedProcesses: false });
    const inThread = await run({ model: MODEL, scripts: ["require('node:child_process')"] });
    expect(inThread.result).toEqual({ status: 'OK' });
  });

  it('would find an object of the thread', () => {
    const printed: string[] = [];
    const context = vm.createContext({ println: (...values: unknown[]) => printed.push(values.join(' ')) });
    vm.runInContext(`(async () => {${WALK}})()`, context);
    expect(printed[0]).toContain('println');
  });
});
