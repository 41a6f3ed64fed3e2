import {
  type AnyPairstreamError,
  ContractError,
  HttpError,
  type PairstreamError,
  QuotaExceededError,
} from "../errors.js";

export function isNotFound(error: PairstreamError): boolean {
  return error instanceof HttpError && error.status === 404;
}

/**
 * Whether a stream that has no page yet may ask for what is not there: no such pair or path, or no service of this kind. A
 * cursor that leads nowhere is that of a page.
 */
export function isUnknown(error: PairstreamError): boolean {
  return isNotFound(error) || (error instanceof ContractError && error.path[0] !== "cursor");
}

/**
 * Whether no retry can help: the service refuses the request itself, or the key. `hasPage`: whether the stream had a page
 * before, so that it is neither the plan nor the address.
 */
export function isFatal(error: PairstreamError, hasPage: boolean): boolean {
  if (!(error instanceof HttpError)) return false;
  const { status } = error;
  if ([400, 401, 403, 410, 424].includes(status)) return true;
  // A browser shows a redirect as status 0.
  return !hasPage && (status === 402 || status === 0 || (status >= 300 && status < 400));
}

/** What a failure is to a stream that had a page before: payment was not required then, so the plan's units are spent. */
export function asOfRunning(error: AnyPairstreamError): AnyPairstreamError {
  if (!(error instanceof HttpError) || error.status !== 402) return error;
  return new QuotaExceededError(error.message, error.body, undefined, { cause: error });
}
