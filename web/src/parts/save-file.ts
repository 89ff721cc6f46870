/** Lets the browser save a text as a file. */

export function saveFile(name: string, type: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  // When the timer fires, the browser has read the address.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
