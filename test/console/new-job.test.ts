/** A job that is put together and handed in by a browser. */
import { execFile } from 'node:child_process';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Page, Route } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import {
  consoleForAllTests,
  expectAccessible,
  handIn,
  hub,
  rowOf,
  visit,
} from '../support/browsers/console.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const RATIO = `const { readFileSync, writeFileSync } = require('node:fs');
const teeth = readFileSync(process.env.WORKBENCH_MODEL, 'utf8').trim().split('\\n').map(Number);
println('at', speed, 'rpm');
writeFileSync('ratio.txt', String(teeth[0] / teeth[1]));`;

/** Drops files on the page, as a file manager does; paths of folders are beyond what a page may do by itself. */
async function drop(page: Page, files: Readonly<Record<string, string>>): Promise<void> {
  await page.getByText('Choose files').waitFor();
  await page.evaluate(`{
    const transfer = new DataTransfer();
    for (const [name, text] of Object.entries(${JSON.stringify(files)})) transfer.items.add(new File([text], name));
    for (const type of ['dragover', 'drop'])
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }`);
}

describe.runIf(hasBrowser)('a new job', () => {
  consoleForAllTests();

  it('is dropped, told when it would run, handed in, and run again with another value', async () => {
    const page = await visit({ path: '/new' });
    await page.getByText('At once').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.getByText('Add at least one script.').waitFor();

    await drop(page, { 'gears.wbpz': '40\n20\n', 'ratio.js': RATIO, 'notes.txt': 'none' });
    await page.getByLabel('What ratio.js is').waitFor();
    expect(await page.getByLabel('What gears.wbpz is').inputValue()).toBe('MODEL');
    expect(await page.getByLabel('What ratio.js is').inputValue()).toBe('SCRIPT');
    await page.getByLabel('Name 1').fill('speed');
    await page.getByLabel('Value 1').fill('1500');
    await page.getByRole('button', { name: 'newest (9.1.0)' }).click();
    await page.getByRole('button', { name: 'gears', exact: true }).click();
    await page.getByLabel('Name of the task').fill('gear pair');
    await page.getByLabel('Note', { exact: true }).fill('softer bearing\nsecond try');
    await page.getByText('The same outside the browser').click();
    await page.getByText("--name 'gear pair'").waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Hand in' }).click();

    await page.getByRole('heading', { name: 'gear pair' }).waitFor();
    expect(await page.locator('.facts .note').innerText()).toBe('softer bearing\nsecond try');
    await page.locator('.log-lines').getByText('at 1500 rpm').waitFor();
    await page.getByRole('tab', { name: 'Outputs 1' }).waitFor();

    await page.getByRole('link', { name: 'Run again' }).click();
    await page.getByRole('heading', { name: 'Run gear pair again' }).waitFor();
    expect(await page.getByLabel('Name of the task').inputValue()).toBe('gear pair (2)');
    expect(await page.getByLabel('What gears.wbpz is').inputValue()).toBe('MODEL');
    expect(await page.getByLabel('What ratio.js is').inputValue()).toBe('SCRIPT');
    await page.getByLabel('Value 1').fill('1800');
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.locator('.log-lines').getByText('at 1800 rpm').waitFor();
    await page.getByRole('tab', { name: 'Outputs 1' }).waitFor();
    await page.getByRole('tab', { name: 'Inputs' }).click();
    await page.getByText('notes.txt').waitFor();
    await page.getByRole('region', { name: 'ratio.js' }).getByText('Script 1').waitFor();
  });

  it('runs a script by the program of its name, by another one, or by that of its first line', async () => {
    const page = await visit({ path: '/new' });
    await drop(page, {
      'one.py': 'print("by", "python")',
      'two.txt': 'echo by sh',
      'three.sh': '#!/bin/sh\necho own',
    });
    const program = (name: string) => page.getByLabel(`Program that runs ${name}`);
    expect(await program('one.py').inputValue()).toBe('python3');
    await page.getByText('#!/bin/sh').waitFor();
    await page.getByLabel('What two.txt is').selectOption('SCRIPT');
    await program('two.txt').selectOption('sh');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Hand in' }).click();
    const lines = page.locator('.log-lines');
    for (const line of ['by python', 'by sh', 'own']) await lines.getByText(line, { exact: true }).waitFor();
  });

  it('is simulated work once more', async () => {
    const response = await fetch(`${hub.address}/api/2.0/workbench/task/simulate-work/create`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'busy', duration: 1 }),
    });
    const { id } = (await response.json()) as { id: string };
    const page = await visit({ path: `/tasks/${id}` });
    await page.getByRole('link', { name: 'Run again' }).click();
    await page.getByRole('heading', { name: 'Run busy again' }).waitFor();
    await page.getByLabel('Seconds', { exact: true }).fill('0');
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.getByText('Simulated work takes a whole number of seconds.').waitFor();
    await page.getByLabel('Seconds', { exact: true }).fill('2');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.getByRole('heading', { name: 'busy (2)' }).waitFor();
    await page.getByText('Simulated work of 2 s').waitFor();
  });

  it('takes a folder with its paths', async () => {
    const { path, remove } = await temporaryFolder();
    onTestFinished(remove);
    await mkdir(join(path, 'case/mesh'), { recursive: true });
    await writeFile(join(path, 'case/mesh/part.stl'), 'solid');
    const page = await visit({ path: '/new' });
    await page.getByLabel('Choose a folder').setInputFiles(join(path, 'case'));
    await page.getByLabel('What case/mesh/part.stl is').waitFor();
  });

  it('says that nothing fits, and what would', async () => {
    // The screen before has asked for the hub's zone, too.
    const page = await visit({ path: '/instances' });
    await page.getByRole('region', { name: "The hub's machine" }).waitFor();
    await page.getByRole('link', { name: 'New job' }).click();
    await page.getByLabel('Version', { exact: true }).fill('12.*');
    await page.getByText('Never, as things are').waitFor();
    await page.getByText('Without version 12.*, 2 would fit').waitFor();
    await expectAccessible(page);
  });

  it('moves the focus to what was added, and to the neighbor of what was removed', async () => {
    const page = await visit({ path: '/new' });
    await drop(page, { 'one.js': '1', 'two.js': '2' });
    const focused = page.locator(':focus');
    const nameOfFocused = () => focused.getAttribute('aria-label');
    await page.getByLabel('Name 1').fill('speed');
    await page.getByRole('button', { name: 'Add a variable' }).press('Enter');
    await expect.poll(nameOfFocused).toBe('Name 2');
    await page.getByRole('button', { name: 'Remove variable 2' }).press('Enter');
    await expect.poll(nameOfFocused).toBe('Name 1');
    await page.getByRole('button', { name: 'Remove one.js' }).press('Enter');
    await expect.poll(nameOfFocused).toBe('Remove two.js');
    await focused.press('Enter');
    await page.locator('label:focus-within', { hasText: 'Choose files' }).waitFor();
  });

  it('asks for labels that no instance has yet, and for a job without a name again', async () => {
    const page = await visit({ path: '/new' });
    await drop(page, { 'one.js': '1' });
    await page.getByLabel('another label').fill('gpu, fast');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'gpu', exact: true, pressed: true }).waitFor();
    await page.getByRole('button', { name: 'fast', exact: true }).click();
    await page.getByText('Without the label gpu, 2 would fit').waitFor();
    await expectAccessible(page);
    // A label that is still in the field counts, too.
    await page.getByLabel('another label').fill('quiet');
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.getByText('No instance that the hub knows fits').waitFor();
    const needs = page.getByRole('region', { name: 'About' });
    await needs.getByText('gpu', { exact: true }).waitFor();
    await needs.getByText('quiet', { exact: true }).waitFor();
    expect(await needs.getByText('fast', { exact: true }).count()).toBe(0);
    await page.getByRole('link', { name: 'Run again' }).click();
    await page.getByRole('heading', { name: 'Run the job again' }).waitFor();
  });

  it('keeps long lines for the command line within the window', async () => {
    const page = await visit({ path: '/new' });
    await page.getByLabel('Name 1').fill('path');
    await page.getByLabel('Value 1').fill('x'.repeat(200));
    await page.getByText('The same outside the browser').click();
    await page.locator('.copied-lines').first().waitFor();
    const right = 'document.querySelector(".lines-card").getBoundingClientRect().right - innerWidth';
    expect(await page.evaluate(right)).toBeLessThanOrEqual(0);
    const overflow =
      '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("main"))';
    expect(await page.evaluate(overflow)).toBe(0);
  });

  it('takes variables of a pasted table', async () => {
    const page = await visit({ path: '/new' });
    await page.getByLabel('Name 1').focus();
    await page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', 'speed\\t1500\\nload\\tNaN');
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    }`);
    expect(await page.getByLabel('Name 2').inputValue()).toBe('load');
    expect(await page.getByLabel('Value 2').inputValue()).toBe('NaN');
  });

  it('takes a table of thousands of variables and hundreds of files, and draws little for a key', async () => {
    const page = await visit({ path: '/new' });
    await page.getByLabel('Name 1').focus();
    await page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', Array.from({ length: 5000 }, (_, at) => 'v' + at + '\\t' + at).join('\\n'));
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    }`);
    await page.getByRole('button', { name: 'Show more (4,800 left)' }).waitFor();
    await page.evaluate(`{
      const transfer = new DataTransfer();
      for (let at = 0; at < 500; at++) transfer.items.add(new File(['x'], 'part-' + at + '.csv'));
      transfer.items.add(new File(['println(v4999)'], 'run.js'));
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }`);
    await page.getByRole('button', { name: 'Show more (301 left)' }).click();
    await page.getByRole('button', { name: 'Show more (101 left)' }).waitFor();
    // React writes to each input that it draws again: twice for each of the 400 of the table.
    await page.evaluate(`{
      window.changes = 0;
      new MutationObserver((changes) => (window.changes += changes.length))
        .observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    }`);
    await page.getByLabel('Name of the task').pressSequentially('many');
    expect(await page.evaluate('window.changes')).toBeLessThan(400);
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.locator('.log-lines').getByText('4999').waitFor();
    await page.getByRole('tab', { name: 'Inputs 501' }).click();
    await page.getByRole('button', { name: 'Show more (4,800 left)' }).waitFor();
    await page.getByRole('button', { name: 'Show more (451 left)' }).waitFor();
    await expectAccessible(page);
  });

  it('says that what was dropped cannot be read', async () => {
    const page = await visit({ path: '/new' });
    await page.getByText('Choose files').waitFor();
    await page.evaluate(`{
      const entry = { isFile: true, fullPath: '/locked.txt', file: (_, reject) => reject(new DOMException('no right to read it', 'NotReadableError')) };
      DataTransferItem.prototype.webkitGetAsEntry = () => entry;
      const transfer = new DataTransfer();
      transfer.items.add(new File(['x'], 'locked.txt'));
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }`);
    await page
      .getByText('The browser cannot read what was dropped, so nothing was added: no right to read it')
      .waitFor();
    await expectAccessible(page);
  });

  it('says before it begins that a file is too large, and that a script is none', async () => {
    const { path, remove } = await temporaryFolder();
    onTestFinished(remove);
    const huge = join(path, 'huge.bin');
    const file = await open(huge, 'w');
    await file.truncate(20 * 1024 ** 3);
    await file.close();
    const page = await visit({ path: '/new' });
    await drop(page, { 'run.js': '1' });
    await page.getByLabel('Choose files').setInputFiles(huge);
    await page.getByLabel('What huge.bin is').selectOption('SCRIPT');
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.getByText('A script has at most 64 MiB').waitFor();
    await page.getByLabel('What huge.bin is').selectOption('FILE');
    const parts: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PATCH') parts.push(request.url());
    });
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.getByText('The hub refused:').waitFor();
    await page.getByLabel('What run.js is').waitFor();
    expect(parts).toEqual([]);
  });

  it('is handed in once though its screen is left meanwhile, and leaves another draft alone', async () => {
    const page = await visit({ path: '/new' });
    await drop(page, { 'run.js': '1' });
    await page.getByLabel('Name of the task').fill('goes on');
    const asked: Route[] = [];
    await page.route('**/task/execute-batch-job/create', (route) => void asked.push(route));
    await page.getByRole('button', { name: 'Hand in' }).click();
    await expect.poll(() => asked).toHaveLength(1);
    const navigation = page.locator('nav.navigation');
    await navigation.getByRole('link', { name: 'Tasks' }).click();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await page.getByRole('link', { name: 'New job' }).first().click();
    await page.getByRole('button', { name: /^Handing in/, disabled: true }).waitFor();
    await expectAccessible(page);
    await page.getByLabel('Name of the task').fill('another');
    await navigation.getByRole('link', { name: 'Tasks' }).click();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await asked[0]?.continue();
    await rowOf(page, 'goes on').waitFor();
    await page.getByRole('link', { name: 'New job' }).first().click();
    await page.getByRole('button', { name: 'Hand in' }).waitFor();
    expect(await page.getByLabel('Name of the task').inputValue()).toBe('another');
    expect(asked).toHaveLength(1);
  });

  it('neither shows the refusal of another job nor leaves its form for that', async () => {
    const id = await handIn({ name: 'former', scripts: ['1'] });
    for (const answer of [
      { status: 400, json: { message: 'no such version' } },
      { status: 201, json: { id } },
    ]) {
      const page = await visit({ path: `/new?from=${id}` });
      await page.getByRole('heading', { name: 'Run former again' }).waitFor();
      const asked: Route[] = [];
      await page.route('**/task/execute-batch-job/create', (route) => void asked.push(route));
      await page.getByRole('button', { name: 'Hand in' }).click();
      await expect.poll(() => asked).toHaveLength(1);
      await page.getByRole('link', { name: 'New job' }).first().click();
      await page.getByRole('button', { name: 'Start over' }).click();
      await page.getByLabel('Name of the task').fill('another');
      await asked[0]?.fulfill(answer);
      await page.getByRole('button', { name: 'Hand in', disabled: false }).waitFor();
      expect(await page.getByText('The hub refused:').count()).toBe(0);
      expect(await page.getByLabel('Name of the task').inputValue()).toBe('another');
    }
  });

  it('stays as it was changed on the way back to the job of an earlier task', async () => {
    const id = await handIn({ name: 'first run', scripts: ['1'], variables: { n: '1' } });
    const page = await visit({ path: `/new?from=${id}` });
    await page.getByRole('heading', { name: 'Run first run again' }).waitFor();
    await page.getByLabel('Value 1').fill('2');
    await page.locator('nav.navigation').getByRole('link', { name: 'Tasks' }).click();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Run first run again' }).waitFor();
    expect(await page.getByLabel('Value 1').inputValue()).toBe('2');
    // Nothing that was typed outlives a reload: then it is the job of the task again.
    await page.reload();
    await page.getByRole('heading', { name: 'Run first run again' }).waitFor();
    await expect.poll(() => page.getByLabel('Value 1').inputValue()).toBe('1');
  });

  it('says of a link to a deleted task that its job is gone', async () => {
    const page = await visit({ path: '/new?from=019aa4f2-6d3c-7c41-9f0e-000000000001' });
    await page.getByText('That task does not exist any more').waitFor();
    await page.getByRole('heading', { name: 'New job' }).waitFor();
    await expectAccessible(page);
  });

  it('is kept as a template over a reload', async () => {
    const page = await visit({ path: '/new' });
    await drop(page, { 'hello.js': 'println("hello")' });
    await page.getByLabel('Title of the template').fill('greeting');
    await page.getByRole('button', { name: 'Save as a template' }).click();
    await page.getByRole('button', { name: 'Use the template greeting' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Use the template greeting' }).click();
    await page.getByLabel('What hello.js is').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.locator('.log-lines').getByText('hello').waitFor();
  });

  it('stays as it was when the hub refuses it', async () => {
    const page = await visit({ path: '/new' });
    await drop(page, { 'run.js': '1', '../../x': 'of another folder' });
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.getByText('The hub refused:').waitFor();
    await page.getByLabel('What run.js is').waitFor();
  });

  it('gives lines that do the same for the command line and for Python', async () => {
    const { path, remove } = await temporaryFolder();
    onTestFinished(remove);
    const script = "require('node:fs').writeFileSync('n.txt', 'n is ' + n)";
    await writeFile(join(path, 'write.js'), script);
    const page = await visit({ path: '/new' });
    await drop(page, { 'write.js': script });
    await page.getByLabel('Name 1').fill('n');
    await page.getByLabel('Value 1').fill("it's $HOME");
    await page.getByText('The same outside the browser').click();
    const [command = '', python = ''] = await page.locator('.copied-lines pre').allTextContents();
    const options = {
      cwd: path,
      env: { ...process.env, HOME: path, PYTHONPATH: join(ROOT, 'packages/client-python') },
    };
    const run = promisify(execFile);
    await run(
      'sh',
      ['-c', command.replace('wb run', `node ${join(ROOT, 'packages/cli/bin/wb.js')} run`)],
      options,
    );
    expect(await readFile(join(path, 'results/n.txt'), 'utf8')).toBe("n is it's $HOME");
    await rm(join(path, 'results'), { recursive: true });
    await run('/usr/bin/python3', ['-c', python], options);
    expect(await readFile(join(path, 'results/n.txt'), 'utf8')).toBe("n is it's $HOME");
  });

  it('is done by keyboard alone', async () => {
    const id = await handIn({ name: 'by keyboard', scripts: ['println("n is", n)'], variables: { n: '1' } });
    const page = await visit({ path: `/new?from=${id}` });
    await page.getByText('script-1').first().waitFor();
    const tabTo = async (name: string | RegExp) => {
      for (let press = 0; press < 60; press++) {
        await page.keyboard.press('Tab');
        const label = (await page.evaluate(
          `document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent`,
        )) as string;
        if (label.match(name)) return;
      }
      throw new Error(`no way to ${name} by Tab`);
    };
    await tabTo('Value 1');
    await page.keyboard.type('2');
    await tabTo('Hand in');
    await page.keyboard.press('Enter');
    await page.locator('.log-lines').getByText('n is 2').waitFor();
  });
});
