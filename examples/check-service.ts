// Asks a service a dozen questions, and says what of its answers fits the contract: `npm run check:service`,
// `npm run check:service -- --help`. The contract is in docs/service.md.
import { Asker } from "./check-service/asker.js";
import { openService } from "./check-service/open-service.js";
import { readOptions } from "./check-service/options.js";
import { askAll, BUDGET, QUESTIONS } from "./check-service/questions.js";
import { Report } from "./check-service/report.js";
import { runProgram } from "./terminal/program.js";

await runProgram(async (args) => {
  const options = readOptions(args, process.env);
  const { clientOptions, pair } = openService(options.place);
  const series = { ...options.series, pairAddress: pair };
  const report = new Report((line) => process.stdout.write(`${line}\n`), options.json);
  report.begin({ baseUrl: clientOptions.baseUrl, series, questions: QUESTIONS.length, ...BUDGET });
  const asker = new Asker(clientOptions, BUDGET.requests);
  for await (const told of askAll(asker, series)) report.add(told);
  report.end(asker.spent);
  if (!report.isSound) process.exitCode = 1;
});
