/** Settings of an S3-compatible object store. */
export interface S3Settings {
  readonly bucket: string;
  /** Address of the store; null for that of Amazon in the region. */
  readonly endpoint: string | null;
  readonly region: string;
  /** Beginning of the keys of all objects of the hub: empty, or it ends with a slash. */
  readonly prefix: string;
  /** Whether the bucket is in the path of requests, not in the name of the host. */
  readonly pathStyle: boolean;
  /** Files with the credentials, which are read again every few minutes; both null for those of the AWS SDK: the environment, its own
   *  files, or the role of the machine. */
  readonly accessKeyIdFile: string | null;
  readonly secretAccessKeyFile: string | null;
  /** File of trusted certificates instead of Node's. */
  readonly ca: string | null;
}

/** Where the objects lie, for messages. */
export function locationOf({ bucket, prefix, endpoint }: S3Settings): string {
  return `s3://${bucket}/${prefix}${endpoint === null ? '' : ` at ${endpoint}`}`;
}
