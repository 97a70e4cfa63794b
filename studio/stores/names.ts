/** A run is called by the last part of its folder, everywhere in the app and in addresses. */
export const nameOf = (run: string): string => run.split("/").at(-1) ?? run;
export const folderOf = (name: string): string => `/runs/${name}`;
