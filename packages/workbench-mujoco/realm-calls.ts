/** Types of the calls between a thread, the realms of its jobs, and the compiled simulator. */
import type { MainModule, MjData, MjModel } from '@mujoco/mujoco';
import type { HostFiles } from './host-files.js';

export type AnyFunction = (...values: unknown[]) => unknown;

/** Functions of the simulator's script that the compiled simulator calls, by name. */
export type SimulatorImports = Record<string, AnyFunction>;

/** Functions of the thread for a realm. */
export interface ThreadCalls {
  readonly files: HostFiles;
  /** Evaluates an expression of the simulator's script in the realm; one that imports something is refused. */
  readonly evaluate: (expression: string) => AnyFunction;
  /** Time in milliseconds, with an arbitrary origin. */
  readonly now: () => number;
  /** A random number from 0 to 255. */
  readonly randomByte: () => number;
  /** The simulator is loaded, or could not be loaded for this reason. */
  readonly loaded: (failure?: string) => void;
  readonly write: (stream: 'stdout' | 'stderr', text: string) => void;
  /** Text of a described value (realm-description.ts), as `util.inspect` gives it; undefined when it cannot be shown. */
  readonly show: (description: string, depth: number) => string | undefined;
  /** Text of a file of the working directory; undefined when it cannot be read. */
  readonly readFile: (name: string) => string | undefined;
  readonly writeFile: (name: string, content: string | Uint8Array) => boolean;
  /** Error of the latest failed call of `readFile` or `writeFile`, as JSON. */
  readonly fileError: () => string;
  /** The script has returned; or it has thrown this, as {@link RealmCalls.describeThrown} gives it. */
  readonly returned: () => void;
  readonly threw: (description: string) => void;
}

/** The compiled simulator, for a realm. */
export interface SimulatorLink {
  readonly exports: Readonly<Record<string, unknown>>;
  /** Lets the compiled simulator call these functions. */
  readonly attach: (imports: SimulatorImports) => void;
  /** Its registrations at the start; undefined while it starts. */
  readonly registered?: {
    readonly general: (imports: SimulatorImports) => void;
  } & RegistrationCalls;
}

/** Settings of a job, which its realm gets as JSON. */
export interface RealmSettings {
  workingDirectory: string;
  variables: Record<string, string>;
  environment: Record<string, string>;
}

/** Functions of a realm for its thread. */
export interface RealmCalls {
  mujoco(): MainModule;
  /** Makes the simulator's object complete, for scripts that look at its names. */
  registerAll(): void;
  showFiles(folders: string): void;
  defineGlobals(settings: string, model: MjModel | undefined, data: MjData | undefined): void;
  run(script: () => Promise<void>): void;
  /** A {@link ThrownDescription} as JSON. */
  describeThrown(thrown: unknown): string;
}

/** A thrown value of a realm, for its thread. */
export interface ThrownDescription {
  /** Code of the `process.exit` that threw it. */
  exitCode?: number;
  /** Name, message and stack of an error. */
  error?: { name: string; message: string; stack: string };
  /** Text of any other value. */
  shown?: string;
}

/** The simulator's script, as a function of the globals that it gets instead of the realm's. */
export type SimulatorScript = (...globals: SimulatorGlobals) => (options: object) => Promise<MainModule>;

/** Globals of the simulator's script, in the order of its parameters (realm-sources.ts). */
type SimulatorGlobals = readonly [
  functionMaker: unknown,
  finalizationRegistry: undefined,
  webAssembly: unknown,
  window: object,
  console: object,
  crypto: object,
  performance: object,
  ofTypes: (registered: object) => object,
];

/** A call of an imported function, with pointers into the simulator's memory among its values. */
export type ImportCall = readonly [name: string, ...values: (number | bigint)[]];

/** Calls that are made when something is first used. */
export interface LaterCalls {
  /** Type that must be registered before. */
  readonly type?: number;
  /** Name of the class that the calls register. */
  readonly className?: string;
  readonly calls: ImportCall[];
}

/** Functions of the thread for registrations; their texts are JSON. */
export interface RegistrationCalls {
  /** {@link LaterCalls} of this key. */
  readonly laterCalls: (key: string) => string | undefined;
  /** Keys of all registrations. */
  readonly laterKeys: () => string;
}
