/** The names in a model's folder that mean something, wherever the folder is. */

/** Version numbers are decimal without leading zeros. Other folders of a model have other uses. */
export const versionName: RegExp = /^(0|[1-9]\d{0,15})$/;

/** The numbers among names of folders, ascending. */
export function versionsAmong(folders: readonly string[]): number[] {
  return folders
    .filter((folder) => versionName.test(folder))
    .map(Number)
    .filter((number) => Number.isSafeInteger(number))
    .sort((a, b) => a - b);
}

/** The configuration's file. */
export const configName = 'config.pbtxt';

/** What was probably meant to be that, as in folders (native/engine/server/model_folder.cc). */
export const misnamedConfig: RegExp = /^config\.(?:pbtxt|pbtxt\.txt|pbtx|txt|prototxt|json|pbtxt\.json)$/i;
