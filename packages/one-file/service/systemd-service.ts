/** The service of the agent on Linux: a unit of systemd. */
import { chmodSync, chownSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type HostService, ServiceFault, type ServiceTarget } from './host-service.js';

export interface SystemdPorts {
  readonly name: string;
  /** The unit that comes with the product. */
  readonly unit: string;
  /** Folder for units of the administrator. */
  readonly folder: string;
  /** Runs a program; returns its exit code, or null when there is none, and its output. */
  readonly run: (
    program: string,
    args: readonly string[],
  ) => { readonly exitCode: number | null; readonly output: string };
  /** Whether systemd is the first process of this host. */
  readonly isSystemdHere: () => boolean;
  readonly isRoot: () => boolean;
}

const DEFAULT_ACCOUNT = 'workbench-agent';
const MARGIN_S = 30;

/** The unit with the paths of this installation. */
export function unitFor(
  unit: string,
  { program, config, dataDir, logFile, stopTimeoutMs }: ServiceTarget,
  account: string,
): string {
  const quoted = (path: string) => (/[\s"'\\%$;]/.test(path) ? `"${escaped(path)}"` : path);
  const settings: readonly [key: string, value: string][] = [
    ['ExecStart', `${quoted(program)} --config ${quoted(config)}`],
    ['User', account],
    ['WorkingDirectory', dirname(config).replaceAll('%', '%%')],
    ['TimeoutStopSec', String(Math.ceil(stopTimeoutMs / 1000) + MARGIN_S)],
  ];
  const changed = settings.reduce((text, [key, value]) => {
    // As a function: the value may have a dollar sign.
    return text.replace(new RegExp(`^${key}=.*$`, 'm'), () => `${key}=${value}`);
  }, unit);
  const writable = [...new Set([dataDir, dirname(logFile)])].map((path) => `ReadWritePaths=${quoted(path)}`);
  return changed
    .split('\n')
    .filter(
      (line) => !/^(?:StateDirectory|LogsDirectory)/.test(line) && !/^# (?:dataDir|log\.file):/.test(line),
    )
    .join('\n')
    .replace('[Install]', () => `${writable.join('\n')}\n\n[Install]`);
}

/** In a unit, a percent and a dollar sign are doubled, and a backslash escapes. */
function escaped(path: string): string {
  return path.replace(/["\\]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$');
}

export function systemdService(ports: SystemdPorts): HostService {
  const { name, folder, unit, run } = ports;
  const path = join(folder, `${name}.service`);
  const systemctl = (...args: string[]) => {
    const { exitCode, output } = run('systemctl', args);
    if (exitCode !== 0)
      throw new ServiceFault(`systemctl ${args.join(' ')}: ${output.trim() || 'it failed'}`);
  };
  const admitted = () => {
    if (!ports.isSystemdHere())
      throw new ServiceFault(
        'systemd does not run here: have "workbench-agent --config FILE" started by the service manager of this host',
      );
    if (!ports.isRoot()) throw new ServiceFault('this needs the rights of root: run it by sudo');
  };
  const installed = () => {
    admitted();
    if (!existsSync(path))
      throw new ServiceFault(
        `service ${name} is not installed: workbench-agent service install --config FILE`,
      );
  };

  return {
    async install(target, account) {
      admitted();
      refuseHidden(target);
      const user = account?.name ?? DEFAULT_ACCOUNT;
      const { owner, group } = idsOf(user, run);
      if (run('systemctl', ['cat', `${name}.service`]).exitCode === 0)
        throw new ServiceFault(
          `there is a unit ${name}.service: uninstall it first, or choose another name by --name`,
        );
      const isNew = !existsSync(target.dataDir);
      try {
        makeFolders(target, owner, group);
        writeFileSync(path, unitFor(unit, target, user), { mode: 0o644 });
        systemctl('daemon-reload');
        systemctl('enable', `${name}.service`);
      } catch (error) {
        rmSync(path, { force: true });
        run('systemctl', ['daemon-reload']);
        throw error;
      }
      const enrolled = isNew
        ? ` Enroll it as that user: runuser -u ${user} -- ${target.program} enroll --config ${target.config}.`
        : '';
      return `Service ${name} is installed (${path}) and starts with the system; it runs as ${user}.${enrolled} Start it now by "workbench-agent service start".`;
    },
    async uninstall() {
      installed();
      systemctl('disable', '--now', `${name}.service`);
      rmSync(path);
      systemctl('daemon-reload');
      return `Service ${name} is removed; configuration and data folder stay.`;
    },
    async start() {
      installed();
      systemctl('start', `${name}.service`);
      return `Service ${name} runs.`;
    },
    async stop() {
      installed();
      systemctl('stop', `${name}.service`);
      return `Service ${name} has stopped.`;
    },
    async status() {
      if (!ports.isSystemdHere() || !existsSync(path))
        return { isInstalled: false, isRunning: false, sentence: `Service ${name} is not installed.` };
      const { output } = run('systemctl', ['is-active', `${name}.service`]);
      const state = output.trim();
      return {
        isInstalled: true,
        isRunning: state === 'active',
        sentence: `Service ${name} is ${state}; its log: journalctl --unit ${name}.`,
      };
    },
  };
}

function makeFolders({ dataDir, logFile }: ServiceTarget, owner: number, group: number): void {
  for (const each of [dataDir, dirname(logFile)]) {
    if (existsSync(each)) continue;
    mkdirSync(each, { recursive: true });
    chmodSync(each, 0o700);
    chownSync(each, owner, group);
  }
}

/** Folders that the unit hides from the agent. */
const HIDDEN = /^\/(?:home|root|run\/user|tmp|var\/tmp)\//;

function refuseHidden({ program, config, dataDir, logFile }: ServiceTarget): void {
  const hidden = [program, config, dataDir, logFile].find((path) => HIDDEN.test(path));
  if (hidden !== undefined)
    throw new ServiceFault(
      `${hidden} is in a folder that the unit hides from the agent: move the file to /usr/local/bin, the configuration to /etc/workbench-agent, and set dataDir and log.file below /var`,
    );
}

function idsOf(user: string, run: SystemdPorts['run']): { readonly owner: number; readonly group: number } {
  const [owner, group] = ['-u', '-g'].map((option) => run('id', [option, user]));
  if (owner?.exitCode !== 0 || group?.exitCode !== 0)
    throw new ServiceFault(
      `there is no user ${user}: useradd --system --home-dir /var/lib/${user} --shell /usr/sbin/nologin ${user}`,
    );
  return { owner: Number(owner.output), group: Number(group.output) };
}
