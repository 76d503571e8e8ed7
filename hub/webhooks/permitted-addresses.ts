/** Which network addresses webhooks may be sent to: public ones, and those of networks that the configuration names. */
import { BlockList, isIP } from 'node:net';
import proxyAddr from 'proxy-addr';

/** Networks that are not public (IANA special-purpose registries), as address and length of the prefix. */
const NOT_PUBLIC_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** The only public block of IPv6. Addresses beyond it, such as those that contain one of IPv4, are refused. */
const GLOBAL_IPV6 = '2000::/3';

/** Parts of it that are not public: for protocols (with Teredo), for documentation, and 6to4. */
const NOT_PUBLIC_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const notPublicIpv4 = listOf(NOT_PUBLIC_IPV4, 'ipv4');
const notPublicIpv6 = listOf(NOT_PUBLIC_IPV6, 'ipv6');
const globalIpv6 = listOf([GLOBAL_IPV6], 'ipv6');

/** Tells of an IP address whether webhooks may be sent to it. `networks` are written as in `server.trustedProxies`. */
export function permittedAddresses(networks: readonly string[]): (address: string) => boolean {
  const isNamed = proxyAddr.compile([...networks]);
  return (address) => isPublic(address) || (isIP(address) !== 0 && isNamed(address, 0));
}

function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !notPublicIpv4.check(address, 'ipv4');
  return isIP(address) === 6 && globalIpv6.check(address, 'ipv6') && !notPublicIpv6.check(address, 'ipv6');
}

function listOf(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', length] = network.split('/');
    list.addSubnet(address, Number(length), family);
  }
  return list;
}
