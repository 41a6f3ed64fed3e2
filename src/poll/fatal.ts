import { HttpError, type PairstreamError } from "../errors.js";

export function isNotFound(error: PairstreamError): boolean {
  return error instanceof HttpError && error.status === 404;
}

/** Whether no retry can help: the service refuses the request itself, or the key. */
export function isFatal(error: PairstreamError): boolean {
  return error instanceof HttpError && [400, 401, 403, 424].includes(error.status);
}
