declare module 's3rver' {
  import type { RequestListener } from 'node:http';

  class S3rver {
    constructor(options: {
      readonly directory: string;
      readonly silent: boolean;
      readonly vhostBuckets: boolean;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    readonly logger: { readonly exceptions: { unhandle(): void }; close(): void };
    configureBuckets(): Promise<void>;
    callback(): RequestListener;
  }

  export = S3rver;
}
