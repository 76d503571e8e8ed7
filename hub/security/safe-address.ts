/** True for an address whose responses cannot be tampered with on the way. */
export function isSafeAddress(address: string): boolean {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'https:') return true;
  return url?.protocol === 'http:' && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
}
