/** Previews of the outputs of a task in a browser. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, handIn, hub, visit } from '../support/browsers/console.js';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** Triangle with its buffer inside. */
const POSITIONS = Buffer.from(new Float32Array([0, 0, 0, 2, 0, 0, 0, 3, 0]).buffer).toString('base64');

function gltfWith(uri: string): string {
  return JSON.stringify({
    asset: { version: '2.0' },
    scene: 0,
    scenes: [{ nodes: [0] }],
    nodes: [{ mesh: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0 } }] }],
    buffers: [{ uri, byteLength: 36 }],
    bufferViews: [{ buffer: 0, byteLength: 36 }],
    accessors: [
      { bufferView: 0, componentType: 5126, count: 3, type: 'VEC3', min: [0, 0, 0], max: [2, 3, 0] },
    ],
  });
}

const STL = [
  'solid part',
  'facet normal 0 0 1',
  'outer loop',
  'vertex 0 0 0',
  'vertex 1 0 0',
  'vertex 0 2 0',
];
const PLY = ['ply', 'format ascii 1.0', 'element vertex 2', 'property float x', 'property float y'];

/** Files by name; those in Base64 begin with `base64:`. */
const FILES: Readonly<Record<string, string>> = {
  'index.html': '<script>document.title = "run"</script>',
  'results.json': '{"mass":1.50,"modes":[{"hz":12}]}',
  'nan.json': '{"mass": NaN}',
  'motion.csv': `time;speed;note\n${Array.from({ length: 300 }, (_, at) => `${at / 10};${Math.sin(at / 20)};n${at}`).join('\n')}\n`,
  'none.csv': 'time,speed\n',
  'nan.csv': 'time,speed\n0,1\n1,NaN\n2,-Infinity\n3,\n4,2\n',
  'plot.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40" onload="document.title=1"><script>document.title = "run"</script><rect width="80" height="40" fill="teal"/></svg>',
  'pixel.png': `base64:${PIXEL}`,
  'broken.png': 'not a picture',
  'part.stl': [...STL, 'endloop', 'endfacet', 'endsolid part', ''].join('\n'),
  'broken.stl': `base64:${Buffer.concat([Buffer.alloc(80), Buffer.from([255, 255, 255, 255])]).toString('base64')}`,
  'cloud.ply': [...PLY, 'property float z', 'end_header', '0 0 0', '1 2 3', ''].join('\n'),
  'wing.gltf': gltfWith(`data:application/octet-stream;base64,${POSITIONS}`),
  'elsewhere.gltf': gltfWith('https://elsewhere.example/wing.bin'),
  'raw.bin': `base64:${Buffer.from([0, 1, 2, 255]).toString('base64')}`,
  'empty.txt': '',
};

const SCRIPT = `const { writeFileSync } = require('node:fs');
for (const [name, content] of Object.entries(${JSON.stringify(FILES)}))
  writeFileSync(name, content.startsWith('base64:') ? Buffer.from(content.slice(7), 'base64') : content);`;

const MILLION = `const { openSync, writeSync, closeSync } = require('node:fs');
const file = openSync('million.csv', 'w');
writeSync(file, 'time,speed\\n');
for (let part = 0; part < 100; part++) {
  let text = '';
  for (let at = 0; at < 10000; at++) text += (part * 10000 + at) + ',' + Math.sin(at / 500).toFixed(4) + '\\n';
  writeSync(file, text);
}
closeSync(file);`;

describe.runIf(hasBrowser)('the previews of outputs', () => {
  consoleForAllTests();

  /** The outputs of a task with a file of each kind, and the preview of one of them. */
  async function preview(name: string, script = SCRIPT) {
    const id = await handIn({ name: 'files', scripts: [script] });
    const page = await visit({ path: `/tasks/${id}` });
    await page.locator('.view-head').getByText('Finished').waitFor();
    await page.getByRole('tab', { name: /Outputs/ }).click();
    return { page, shown: await open(page, name) };
  }

  async function open(page: Page, name: string) {
    await page.getByRole('button', { name, exact: true }).click();
    return page.getByRole('region', { name: `Preview: ${name}` });
  }

  it('show a page as text, and run nothing of it or of an image', async () => {
    const { page, shown } = await preview('index.html');
    expect(await shown.locator('pre').textContent()).toBe('<script>document.title = "run"</script>');
    const svg = await open(page, 'plot.svg');
    const image = svg.getByRole('img', { name: 'plot.svg' });
    await image.waitFor();
    await page.waitForFunction('document.querySelector(".picture img").naturalWidth === 80');
    expect(await image.getAttribute('src')).toMatch(/^data:image\/svg\+xml;base64,/);
    expect(await page.locator('svg script').count()).toBe(0);
    expect(await page.title()).toBe('files: Finished · Workbench Hub');
    await expectAccessible(page);
    const png = await open(page, 'pixel.png');
    await png.getByRole('img', { name: 'pixel.png' }).waitFor();
  });

  it('are found among a thousand outputs, in the order of their numbers, of which few are in the page', async () => {
    const script =
      "const fs = require('node:fs'); fs.mkdirSync('frames');" +
      " for (let at = 0; at < 1000; at++) fs.writeFileSync('frames/' + at + '.txt', 'frame ' + at);";
    const id = await handIn({ name: 'frames', scripts: [script] });
    const page = await visit({ path: `/tasks/${id}` });
    await page.locator('.view-head').getByText('Finished').waitFor();
    await page.getByRole('tab', { name: 'Outputs 1,000' }).click();
    await page.getByText('1,000 files').waitFor();
    await page.getByRole('button', { name: 'frames/2.txt', exact: true }).waitFor();
    expect((await page.locator('.files .path').allTextContents()).slice(0, 12)).toEqual(
      Array.from({ length: 12 }, (_, at) => `frames/${at}.txt`),
    );
    expect(await page.locator('.files tbody tr').count()).toBeLessThan(100);
    await expectAccessible(page);
    const search = await page.getByRole('searchbox', { name: 'Find a file' }).boundingBox();
    const download = await page.getByRole('button', { name: /^Download all/ }).boundingBox();
    expect(download?.x).toBeGreaterThan((search?.x ?? 0) + (search?.width ?? 0));
    await page.evaluate("document.querySelector('.files-scroller').scrollTop = 1e9");
    await page.getByRole('button', { name: 'frames/999.txt', exact: true }).click();
    await page.locator('pre').getByText('frame 999').waitFor();
    await page.evaluate("document.querySelector('.files-scroller').scrollTop = 0");
    await page.getByRole('button', { name: 'frames/0.txt', exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Find a file' }).fill('471');
    await page.getByText('1 file', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'frames/471.txt', exact: true }).click();
    await page.locator('pre').getByText('frame 471').waitFor();
  });

  it('are in the address, as is the choice of a plot, and a link shows others the same', async () => {
    const { page, shown } = await preview('motion.csv');
    await shown.getByRole('button', { name: 'Plot' }).click();
    await shown.getByRole('combobox', { name: 'X axis' }).selectOption({ label: 'Row' });
    await shown.getByRole('checkbox', { name: 'time' }).check();
    await shown.getByRole('checkbox', { name: 'Logarithmic' }).check();
    await shown.getByLabel('From').fill('20');
    await page.keyboard.press('Enter');
    await shown.getByRole('button', { name: 'Show all of it' }).waitFor();
    const other = await visit({ path: page.url().slice(hub.address.length) });
    const same = other.getByRole('region', { name: 'Preview: motion.csv' });
    await same.getByRole('img', { name: 'Plot of speed, time over Row' }).waitFor();
    expect(await same.getByRole('checkbox', { name: 'Logarithmic' }).isChecked()).toBe(true);
    expect(await same.getByLabel('From').inputValue()).toBe('20');
    await other.getByRole('tab', { name: /Inputs/ }).click();
    await other.reload();
    await other.getByRole('tab', { name: /Inputs/, selected: true }).waitFor();
    await page.goto(page.url().replace('motion.csv', 'nothing.csv'));
    await page.getByText('names a file that this task does not have: nothing.csv').waitFor();
  });

  it('show an output with the path of another folder as it is, and save it by its name alone', async () => {
    const path = '../../x';
    const id = await handIn({
      name: 'elsewhere',
      scripts: ["require('node:fs').writeFileSync('x', 'inside')"],
    });
    const page = await visit({ path: '/tasks' });
    const isTask = (url: URL) => url.pathname === `/api/x/tasks/${id}`;
    // No agent collects such a file: here, a hub says that there is one.
    await page.route(isTask, async (route) => {
      const response = await route.fetch();
      const task = (await response.json()) as { outputs?: { path: string }[] };
      await route.fulfill({
        response,
        json: { ...task, outputs: task.outputs?.map((file) => ({ ...file, path })) },
      });
    });
    await page.route(
      ({ pathname }) => pathname.startsWith(`/api/x/tasks/${id}/outputs/`),
      (route) => route.fulfill({ body: 'inside' }),
    );
    await page.goto(new URL(`/tasks/${id}`, page.url()).href);
    await page.locator('.view-head').getByText('Finished').waitFor();
    await page.getByRole('tab', { name: /Outputs/ }).click();
    await page.getByRole('button', { name: path, exact: true }).waitFor();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: `Download: ${path}` }).click();
    expect((await saving).suggestedFilename()).toBe('x');
  });

  it('open and close by keyboard, and the focus returns', async () => {
    const { page, shown } = await preview('raw.bin');
    await shown.getByText('This is no text').waitFor();
    await shown.getByRole('button', { name: 'Close the preview' }).focus();
    await page.keyboard.press('Enter');
    await shown.waitFor({ state: 'detached' });
    await page.locator('button:focus', { hasText: 'raw.bin' }).waitFor();
    await page.keyboard.press('Enter');
    await shown.waitFor();
    const empty = await open(page, 'empty.txt');
    await empty.getByText('The file is empty').waitFor();
  });

  it('indent JSON, and show what is none as it is', async () => {
    const { page, shown } = await preview('results.json');
    await shown.locator('pre').waitFor();
    expect(await shown.locator('pre').textContent()).toContain('  "mass": 1.50,\n');
    const nan = await open(page, 'nan.json');
    await nan.getByText('This is not valid JSON').waitFor();
    expect(await nan.locator('pre').textContent()).toBe('{"mass": NaN}');
    await expectAccessible(page);
  });

  it('show a table, and plot the columns that are chosen', async () => {
    const { page, shown } = await preview('motion.csv');
    await shown.getByText('300 rows').waitFor();
    await shown.getByRole('columnheader', { name: 'speed' }).waitFor();
    await expectAccessible(page);
    await shown.getByRole('button', { name: 'Plot' }).click();
    await shown.getByRole('img', { name: 'Plot of speed over time' }).waitFor();
    await shown.locator('canvas').waitFor();
    expect(await shown.getByRole('checkbox', { name: 'note' }).count()).toBe(0);
    await shown.getByRole('combobox', { name: 'X axis' }).selectOption({ label: 'Row' });
    await shown.getByRole('checkbox', { name: 'time' }).check();
    await shown.getByRole('img', { name: 'Plot of speed, time over Row' }).waitFor();
    await expectAccessible(page);
    const none = await open(page, 'none.csv');
    await none.getByText('The table has no rows').waitFor();
    const nan = await open(page, 'nan.csv');
    await nan.getByRole('cell', { name: 'NaN' }).waitFor();
    await nan.getByRole('button', { name: 'Plot' }).click();
    await nan.getByRole('img', { name: 'Plot of speed over time' }).waitFor();
  });

  it('show a part of a plot by numbers and by a drag, and plot what logarithms do not have', async () => {
    const rows = Array.from(
      { length: 100 },
      (_, at) => `${at},${Math.cos(at / 8)},0,${10 ** (at / 10)},-1e308`,
    ).join('\n');
    const script = `require('node:fs').writeFileSync('odd.csv', ${JSON.stringify(`t,wave,zero,growth,least\n${rows}\n`)})`;
    const { page, shown } = await preview('odd.csv', script);
    await shown.getByRole('button', { name: 'Plot' }).click();
    await shown.locator('canvas').waitFor();
    await shown.getByLabel('From').fill('20');
    await page.keyboard.press('Tab');
    await page.keyboard.type('40');
    await page.keyboard.press('Enter');
    await shown.getByRole('button', { name: 'Show all of it' }).click();
    expect(await shown.getByLabel('From').inputValue()).toBe('');
    const over = await shown.locator('.u-over').boundingBox();
    if (over === null) throw new Error('no plot');
    await page.mouse.move(over.x + over.width * 0.25, over.y + 50);
    await page.mouse.down();
    await page.mouse.move(over.x + over.width * 0.5, over.y + 50, { steps: 4 });
    await page.mouse.up();
    await shown.getByRole('button', { name: 'Show all of it' }).waitFor();
    expect(Number(await shown.getByLabel('From').inputValue())).toBeGreaterThan(15);
    expect(Number(await shown.getByLabel('To').inputValue())).toBeLessThan(60);
    await shown.getByRole('checkbox', { name: 'Logarithmic' }).check();
    for (const column of ['zero', 'growth', 'least']) {
      await shown.getByRole('checkbox', { name: column }).check();
      // The page lives: it draws another frame.
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => resolve()))');
    }
    await shown.getByRole('checkbox', { name: 'wave' }).uncheck();
    await expectAccessible(page);
  });

  it('stay alive with a million rows, and say that they are cut', async () => {
    const { page, shown } = await preview('million.csv', MILLION);
    // Frames that the page draws while it reads: the longest time without one, beside the time of all.
    await page.evaluate(`{
      let latest = performance.now();
      window.began = latest;
      window.longest = 0;
      const look = () => {
        const now = performance.now();
        window.longest = Math.max(window.longest, now - latest);
        latest = now;
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    }`);
    await shown.getByText('The first 500,000 rows').waitFor({ timeout: 60_000 });
    expect(await shown.getByRole('row').count()).toBeLessThan(80);
    await shown.getByRole('button', { name: 'Plot' }).click();
    await shown.getByText('lowest and highest value').waitFor();
    await shown.locator('canvas').waitFor();
    expect(await page.evaluate('window.longest / (performance.now() - window.began)')).toBeLessThan(0.5);
  });

  it('draw models in 3-D, turned by keyboard', async () => {
    const { page, shown } = await preview('part.stl');
    await shown.getByText('1 triangles').waitFor();
    await shown.locator('canvas').waitFor();
    await shown.getByRole('application').focus();
    const before = await shown.locator('canvas').screenshot();
    for (let press = 0; press < 3; press++) await page.keyboard.press('ArrowRight');
    await page.waitForTimeout(200);
    expect((await shown.locator('canvas').screenshot()).equals(before)).toBe(false);
    await expectAccessible(page);
    const cloud = await open(page, 'cloud.ply');
    await cloud.getByText('2 points, 1 × 2 × 3').waitFor();
    const wing = await open(page, 'wing.gltf');
    await wing.getByText('1 triangles, 2 × 3 × 0').waitFor();
  });

  it('say in words that a file is broken, or is in parts elsewhere', async () => {
    const { page, shown } = await preview('broken.stl');
    await shown.getByText('This model cannot be shown').waitFor();
    const image = await open(page, 'broken.png');
    await image.getByText('This image cannot be shown').waitFor();
    const model = await open(page, 'elsewhere.gltf');
    await model.getByText('not loaded: https://elsewhere.example/wing.bin').waitFor();
    await expectAccessible(page);
  });
});
