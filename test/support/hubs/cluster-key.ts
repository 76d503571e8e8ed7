/** Storage key of all hubs on one database, by which they share what is sealed there. */
export const CLUSTER_KEY = Buffer.alloc(32, 'key of the tests').toString('base64');
