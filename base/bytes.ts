// Memory of bytes that are not needed any more.

/**
 * Gives the memory back at once, where it is these bytes' alone; whoever still looks sees nothing. V8 counts buffers outside of its heap, and
 * would let tens of megabytes of them gather before it looks.
 */
export const releaseBytes = ({ buffer, byteLength }: Uint8Array): void => {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
};
