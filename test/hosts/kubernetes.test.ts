/** Kubernetes by the commands of deploy/kubernetes, with the real kubectl and a server that stands for a cluster. */
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ManagerSettings } from '@workbench-hub/hub/core/hosts/host-recipe';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import {
  FAILING_IMAGE,
  type Job,
  KubernetesApi,
  MISSING_IMAGE,
  WORKING_IMAGE,
} from '../support/hosts/kubernetes-api.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { describeWorkloadManager, type WorkloadManagerUnderTest } from './workload-manager-suite.js';

const COMMANDS = fileURLToPath(new URL('../../deploy/kubernetes', import.meta.url));
const hasKubectl = spawnSync('kubectl', ['version', '--client'], { stdio: 'ignore' }).status === 0;

interface Cluster extends WorkloadManagerUnderTest {
  /** Its settings, with a pod that no node takes. */
  readonly full: Extract<ManagerSettings, { readonly kind: 'command' }>;
  /** Its settings, with a pod that has an init container of this image. */
  withInitContainer(image: string): Promise<Cluster['full']>;
}

async function open(): Promise<Cluster> {
  const { path: folder, remove } = await temporaryFolder();
  const api = new KubernetesApi();
  await api.listen();
  const config = join(folder, 'kubeconfig');
  await api.writeConfig(config);
  const template = readFileSync(join(COMMANDS, 'job.yaml'), 'utf8');
  const manager = async (name: string, from: string, to: string): Promise<Cluster['full']> => {
    const file = join(folder, `${name}.yaml`);
    if (!template.includes(from)) throw new Error(`job.yaml has no ${from}`);
    await writeFile(file, template.replace(from, to));
    const command = (verb: string, ...args: readonly string[]) => [
      'env',
      `KUBECONFIG=${config}`,
      // Where kubectl caches what the server has told.
      `HOME=${folder}`,
      join(COMMANDS, verb),
      ...args,
    ];
    return {
      ...{ kind: 'command', via: [] },
      submit: command('submit', file),
      list: command('list'),
      cancel: command('cancel'),
      check: command('submit', file, '--check'),
    };
  };
  const job = await manager('job', '', '');
  return {
    folder,
    manager: job,
    holding: await manager('held', '\nspec:\n', '\nspec:\n  suspend: true\n'),
    full: await manager(
      'full',
      '\n      restartPolicy:',
      '\n      schedulerName: none\n      restartPolicy:',
    ),
    withInitContainer: (image) =>
      manager(
        `init-${image.replaceAll(/\W/g, '-')}`,
        '\n      containers:',
        `\n      initContainers:\n        - name: fetch\n          image: ${image}\n      containers:`,
      ),
    refusing: await manager('other', '\nmetadata:\n', '\nmetadata:\n  namespace: other\n'),
    refusal: /namespaces "other" not found/,
    endOfCanceled: 'asked to end',
    isForgotten: true,
    leave: () => api.leave(),
    comeBack: () => api.listen(),
    faults: {
      slow: {
        halt: () => {
          api.isHalted = true;
        },
        resume: () => {
          api.isHalted = false;
        },
      },
      quota: {
        useUp: async () => {
          api.quota = 1;
          return job;
        },
        free: () => {
          api.quota = null;
        },
        words: /exceeded quota: hosts/,
      },
      stuck: {
        manager: await manager('imageless', 'image: workbench-agent', `image: ${MISSING_IMAGE}`),
        words: /^ImagePullBackOff: "Back-off pulling image .*not found"$/,
      },
      endsInTime: true,
    },
    close: async () => {
      await api.close();
      await remove();
    },
  };
}

/** Output of a command. */
async function run(
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  return (await promisify(execFile)(command, args, { env: { ...process.env, ...env } })).stdout;
}

/** Hands in a job, whose script is a/job.sh in the folder. */
const submit = ({ submit: command }: Cluster['full'], folder: string, name: string) =>
  run(command, {
    ...{
      WORKBENCH_ALLOCATION: name,
      WORKBENCH_SCRIPT: join(folder, 'a', 'job.sh'),
      WORKBENCH_WALL_TIME_S: '60',
    },
  });

describe.skipIf(!hasKubectl)('Kubernetes by kubectl', () => {
  describeWorkloadManager(open, ['slow', 'quota', 'stuck']);

  it('takes job.yaml as it is, and as the submit command fills it, on a dry run of the client', async () => {
    const { path: folder, remove } = await temporaryFolder();
    onTestFinished(remove);
    const api = new KubernetesApi();
    await api.listen();
    onTestFinished(() => api.close());
    const config = join(folder, 'kubeconfig');
    await api.writeConfig(config);
    const env = { ...process.env, HOME: folder, KUBECONFIG: config };
    const template = join(COMMANDS, 'job.yaml');
    const filled = join(folder, 'filled.yaml');
    await writeFile(join(folder, 'kubectl'), `#!/bin/sh\ncat >'${filled}'\n`, { mode: 0o755 });
    await promisify(execFile)(join(COMMANDS, 'submit'), [template], {
      env: {
        ...{ ...env, PATH: `${folder}:${process.env['PATH']}`, WORKBENCH_ALLOCATION: 'gears-1' },
        ...{ WORKBENCH_SCRIPT: '/shared/gears-1/job.sh', WORKBENCH_WALL_TIME_S: '14400' },
      },
    });
    const jobOf = async (file: string) => {
      const flags = ['--dry-run=client', '--validate=false', '-o', 'json'];
      const { stdout } = await promisify(execFile)('kubectl', ['create', ...flags, '-f', file], { env });
      const { metadata, spec } = JSON.parse(stdout) as Job;
      const { activeDeadlineSeconds, containers } = spec.template.spec;
      return [metadata.labels['workbench-allocation'], activeDeadlineSeconds, containers[0]?.command[1]];
    };
    expect(await jobOf(template)).toEqual(['@ALLOCATION@', '@WALL_TIME_S@', '@SCRIPT@']);
    expect(await jobOf(filled)).toEqual(['gears-1', 14_400, '/shared/gears-1/job.sh']);
  });

  it('says of an init container why the container does not start, and takes none that works for stuck', async () => {
    const cluster = await open();
    onTestFinished(cluster.close);
    const fetched = 'ImagePullBackOff of init container fetch: "Back-off pulling image';
    for (const [name, image, line] of [
      ['imageless', MISSING_IMAGE, `STUCK - ${fetched} \\"${MISSING_IMAGE}\\":\\nnot found" PodInitializing`],
      [
        ...['fails', FAILING_IMAGE],
        'STUCK - CrashLoopBackOff of init container fetch: "back-off 40s restarting failed container=fetch pod=workbench-x" PodInitializing',
      ],
      ['works', WORKING_IMAGE, 'QUEUED - PodInitializing'],
    ] as const) {
      const job = (await submit(await cluster.withInitContainer(image), cluster.folder, name)).trim();
      const lines = await run(cluster.full.list, { WORKBENCH_ALLOCATIONS: name });
      expect(lines).toBe(`${job} ${name} ${line}\n`);
    }
  });

  it('says why a pod has no node, and how one has ended', async () => {
    const cluster = await open();
    onTestFinished(cluster.close);
    const script = join(cluster.folder, 'a', 'job.sh');
    await mkdir(join(cluster.folder, 'a'));
    await writeFile(script, 'exit 3');
    const { full, manager } = cluster;
    const waiting = (await submit(full, cluster.folder, 'waits')).trim();
    const failing = (await submit(manager as Cluster['full'], cluster.folder, 'fails')).trim();
    await eventually(async () => {
      const lines = await run(full.list, { WORKBENCH_ALLOCATIONS: 'waits fails' });
      expect(lines.split('\n')).toEqual([
        `${waiting} waits QUEUED - Unschedulable: 0/3 nodes are available:`,
        `${failing} fails ENDED - BackoffLimitExceeded`,
        '',
      ]);
      return true;
    });
  });
});
