/** The service that starts the agent with its host, as the command `service` needs it. */

/** The installed agent. */
export interface ServiceTarget {
  /** Path of the single file. */
  readonly program: string;
  /** Absolute path of the configuration. Paths in it are relative to its folder. */
  readonly config: string;
  readonly dataDir: string;
  /** Path of the log file. */
  readonly logFile: string;
  /** Time that a stop of the agent may take. */
  readonly stopTimeoutMs: number;
}

export interface ServiceAccount {
  readonly name: string;
  readonly password: string | null;
}

/** Methods return sentences for the operator, and reject with {@link ServiceFault}. */
export interface HostService {
  /** `account`: null for the one by default. Leaves nothing when it fails. */
  install(target: ServiceTarget, account: ServiceAccount | null): Promise<string>;
  uninstall(): Promise<string>;
  start(): Promise<string>;
  /** Resolves when the agent has ended. */
  stop(): Promise<string>;
  status(): Promise<ServiceState>;
}

export interface ServiceState {
  readonly isInstalled: boolean;
  readonly isRunning: boolean;
  readonly sentence: string;
}

/** A fault that the operator can correct; only its message is printed. */
export class ServiceFault extends Error {
  override readonly name = 'ServiceFault';
}
