// The signature of a program for Windows. That of node.exe does not hold for what is made from it, and Windows refuses a wrong one
// where it accepts none.

/** Places in a file of the format PE (Microsoft, "PE Format"). */
const HEADER_ADDRESS_AT = 0x3c;
const OPTIONAL_HEADER_AT = 24;
const IS_64_BIT = 0x20b;
const DIRECTORIES_AT = 112;
const CERTIFICATES = 4;
const DIRECTORY_BYTES = 8;

/** The program without its signature, which lies at its end. */
export function withoutSignature(program) {
  const header = program.readUInt32LE(HEADER_ADDRESS_AT);
  const optional = header + OPTIONAL_HEADER_AT;
  if (
    program.toString('latin1', header, header + 4) !== 'PE\0\0' ||
    program.readUInt16LE(optional) !== IS_64_BIT
  )
    throw new Error('the binary of Node.js for Windows is no 64-bit program (PE32+)');
  const entry = optional + DIRECTORIES_AT + CERTIFICATES * DIRECTORY_BYTES;
  const [address, size] = [program.readUInt32LE(entry), program.readUInt32LE(entry + 4)];
  if (size === 0) return program;
  if (address + size !== program.length)
    throw new Error('the signature of the binary of Node.js for Windows is not at its end');
  const unsigned = Buffer.from(program.subarray(0, address));
  unsigned.fill(0, entry, entry + DIRECTORY_BYTES);
  return unsigned;
}
