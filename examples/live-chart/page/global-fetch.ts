/** Takes the place of cross-fetch in a page, which has a fetch of its own. */
export default (...call: Parameters<typeof fetch>) => fetch(...call);
