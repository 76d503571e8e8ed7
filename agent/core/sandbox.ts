/** Access of an instance's jobs beyond the system's programs and their own directory. */
export interface SandboxSettings {
  readonly network: boolean;
  /** True: all devices of the host; a list: these devices, by absolute path. */
  readonly gpus: boolean | readonly string[];
  /** Absolute paths of readable folders or files. */
  readonly readOnly: readonly string[];
}
