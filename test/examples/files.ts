import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A new folder that is there until the test has ended. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "pairstream-examples-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** A file with these lines. */
export async function tapeOf(lines: readonly string[]): Promise<string> {
  const file = join(await temporaryFolder(), "swaps.ndjson");
  await writeFile(file, `${lines.join("\n")}\n`);
  return file;
}

/** A line of a tape. */
export function swapLine(timestamp: number, number: number, price: number, tokenAmount = 10): string {
  return JSON.stringify({
    blockNumber: 1_000 + Math.floor(timestamp / 1_000),
    timestamp: new Date(timestamp).toISOString(),
    transactionHash: `hash${number}`,
    walletAddress: `wallet${number % 7}`,
    side: number % 2 === 0 ? "buy" : "sell",
    tokenAmount,
    usdAmount: price * tokenAmount,
    nativeAmount: (price * tokenAmount) / 100,
  });
}
