export default {
  logLevel: "error",
  build: {
    lib: { entry: "page.mjs", formats: ["es"], fileName: () => "page.js" },
    outDir: "out/vite",
    emptyOutDir: true,
  },
};
