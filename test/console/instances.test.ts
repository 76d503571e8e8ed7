/** The screens of instances and agents in a browser. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent, instanceReportOf } from '../support/agents/fake-agent.js';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, handIn, hub, visitAs } from '../support/browsers/console.js';
import { eventually } from '../support/eventually.js';
import { logIn } from '../support/hubs/login.js';
import { USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';

/** Animation of the first icon that turns. */
const ANIMATION = "getComputedStyle(document.querySelector('.icon.turning')).animationName";

/** Chooses German, from the next page on. */
const IN_GERMAN = `localStorage.setItem('workbench-preferences', JSON.stringify({
  ...JSON.parse(localStorage.getItem('workbench-preferences') ?? '{}'), language: 'de' }))`;

async function tokenOfAnna(): Promise<string> {
  return (await logIn(new Api(hub), 'anna')).accessToken;
}

async function joined(id: string, instances: readonly string[]) {
  const agent = await FakeAgent.join(hub, {
    id,
    nodeId: randomUUID(),
    instances: instances.map((each) => instanceReportOf({ id: each, labels: ['gpu', 'linux'] })),
  });
  onTestFinished(async () => agent.leave(await tokenOfAnna()));
  return agent;
}

describe.runIf(hasBrowser)('the screens of instances', () => {
  consoleForAllTests({ users: USERS });

  it('show who works on what, live, and lead to the task and to the log', async () => {
    const token = await tokenOfAnna();
    const gate = `${hub.config.dataDir}/gate-of-the-instance`;
    const script = '#!/bin/sh\nwhile [ ! -e "$gate" ]; do sleep 0.1; done';
    const page = await visitAs('vera', '/instances');
    const own = page.getByRole('region', { name: "The hub's machine" });
    await own.getByRole('row').nth(2).getByText('Free').waitFor();
    await handIn({ name: 'long run', scripts: [script], variables: { gate }, token });
    await own.getByRole('row', { name: 'Working' }).getByRole('link', { name: 'long run' }).waitFor();
    const animation = () => page.evaluate(ANIMATION);
    expect(await animation()).toBe('turn');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await animation()).toBe('none');
    await page.getByRole('button', { name: 'Working 1' }).click();
    expect(new URL(page.url()).search).toBe('?state=WORKING');
    await expectAccessible(page);
    expect(await own.getByRole('row').count()).toBe(2);
    await writeFile(gate, '');
    await page.getByText('No instance matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await own.getByRole('link', { name: 'Log: sim-1' }).click();
    await page.getByRole('heading', { name: 'sim-1', level: 1 }).waitFor();
    await page.locator('.log-line').first().waitFor();
    await page.getByRole('heading', { name: 'Latest tasks here' }).waitFor();
    await expectAccessible(page);
  });

  it('show the system of an agent and how it was installed, also in German, and that neither is known', async () => {
    const windows = { kind: 'FILE', os: 'windows', arch: 'x64' };
    for (const [id, installation] of [['host-new', windows] as const, ['host-old', null] as const]) {
      const agent = await FakeAgent.join(hub, { id, nodeId: randomUUID(), instances: [], installation });
      onTestFinished(async () => agent.leave(await tokenOfAnna()));
    }
    const page = await visitAs('anna', '/instances');
    const region = (name: string) => page.getByRole('region', { name });
    await region('host-new').getByText('Windows x64').waitFor();
    await region('host-new').getByText('one file').waitFor();
    await region('host-old').getByText('unknown system').waitFor();
    await expectAccessible(page);
    await page.goto(`${hub.address}/administration`);
    await page.getByRole('row', { name: 'host-new' }).getByText('one file').waitFor();
    await page.getByRole('row', { name: 'host-old' }).getByText('unknown installation').waitFor();
    await expectAccessible(page);
    await page.evaluate(IN_GERMAN);
    await page.goto(`${hub.address}/instances`);
    await region('host-new').getByText('eine Datei').waitFor();
    await region('host-old').getByText('Installation unbekannt').waitFor();
  });

  it('show the crashes of an instance with their task, and that there are none', async () => {
    const token = await tokenOfAnna();
    const page = await visitAs('vera', '/instances/sim-2');
    const card = page.getByRole('region', { name: 'Crashes' });
    await card.getByText('None since its agent started').waitFor();
    await expectAccessible(page);
    // Ends the program of each instance that runs it, but only in its first attempt.
    const script = '#!/bin/sh\nmkdir "$once" && kill -9 $PPID && sleep 60\ntrue';
    const once = `${hub.config.dataDir}/crashed-once`;
    const id = await handIn({ name: 'crash', scripts: [script], variables: { once }, token });
    const crashed = await eventually(async () => {
      const response = await fetch(`${hub.address}/api/x/tasks/${id}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const { attempts } = (await response.json()) as { attempts: { instance: { id: string } }[] };
      return attempts[1] && attempts[0]?.instance.id;
    });
    await page.goto(`${hub.address}/instances/${crashed}`);
    await card.getByText('1 since its agent started').waitFor();
    await card.getByText('was ended by SIGKILL').waitFor();
    await expectAccessible(page);
    await card.getByRole('link', { name: 'its task' }).click();
    await page.waitForURL(`${hub.address}/tasks/${id}`);
  });

  it('find instances by label and agent, and say when none is found', async () => {
    await joined('lab-host', ['lab-1', 'lab-2']);
    const page = await visitAs('vera', '/instances');
    const field = page.getByRole('searchbox', { name: 'Id, version, label or agent' });
    await field.fill('gpu lab-host');
    await page.getByRole('link', { name: 'lab-1', exact: true }).waitFor();
    await page.getByRole('region', { name: "The hub's machine" }).waitFor({ state: 'detached' });
    await field.fill('nowhere');
    await page.getByText('No instance matches').waitFor();
    await page.reload();
    await page.getByText('No instance matches').waitFor();
  });

  it('stop and start an instance after a question, by keyboard', async () => {
    const page = await visitAs('anna', '/instances');
    const row = page.getByRole('row').filter({ hasText: 'sim-2' });
    await row.getByRole('button', { name: 'Stop: sim-2' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('alertdialog', { name: 'Stop sim-2?' }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    await row.locator('button:focus').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('alertdialog').locator(':focus').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await row.getByText('Stopped').waitFor();
    await page.getByText('sim-2: accepted').waitFor();
    await row.getByRole('button', { name: 'Start: sim-2' }).focus();
    await page.keyboard.press('Enter');
    await row.getByText('Free').waitFor();
  });

  it('drain and undrain an agent, and say why a command to an absent one fails', async () => {
    const agent = await joined('mill-host', ['mill-1']);
    const page = await visitAs('anna', '/instances?find=mill-host');
    await page.getByRole('button', { name: 'Drain: mill-host' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Drain' }).click();
    const group = page.getByRole('region', { name: 'mill-host' });
    await group.getByRole('cell', { name: 'Drained' }).waitFor();
    await group.getByText('by anna').waitFor();
    await page.getByText('mill-host is drained').waitFor();
    expect(await group.getByText('Free').count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole('link', { name: 'mill-1', exact: true }).click();
    await page.getByText('The agent mill-host is drained').waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Undrain: mill-host' }).click();
    await page.getByText('mill-host takes tasks again').waitFor();
    await group.getByRole('cell', { name: 'Free' }).waitFor();
    await agent.leave(await tokenOfAnna());
    await group.getByText('not connected').waitFor();
    await group.getByText('Unreachable').waitFor();
    await page.getByRole('link', { name: 'Log: mill-1' }).click();
    await page.getByText('The log cannot be read').waitFor();
    const crashes = page.getByRole('region', { name: 'Crashes' });
    await crashes.getByText('agent mill-host is not connected').waitFor();
  });

  it('hide what only an administrator may do', async () => {
    await joined('safe-host', ['safe-1']);
    const page = await visitAs('ulla', '/instances');
    await page.getByRole('link', { name: 'safe-1', exact: true }).waitFor();
    expect(await page.getByRole('button', { name: /^(?:Stop|Start|Restart|Drain)/ }).count()).toBe(0);
  });

  it('are usable on a phone, and say of an unknown instance that there is none', async () => {
    const page = await visitAs('anna', '/instances', 360);
    await page.getByRole('link', { name: 'sim-1', exact: true }).waitFor();
    await page.getByRole('row', { name: 'sim-1' }).getByText('gears').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await expectAccessible(page);
    await page.goto(`${hub.address}/instances/sim-404`);
    await page.getByText('There is no such instance').waitFor();
  });
});
