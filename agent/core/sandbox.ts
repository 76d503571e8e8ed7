/** Access of an instance's jobs beyond the system's programs and their own directory. */
export interface SandboxSettings {
  readonly network: boolean;
  /** True: all that the host has; a list: these devices, by absolute path. */
  readonly gpus: boolean | readonly string[];
  /** Absolute paths of folders or files that may be read. */
  readonly readOnly: readonly string[];
}
