---@meta
-- Written by `make docs`. For the Lua language server: put this folder into workspace.library.

local Tensor, Module = torch.Tensor, nn.Module

---0 between -lambd and lambd, the input elsewhere
---@param input torch.Tensor|table
---@param lambd? number
---@param keywords? {input?: torch.Tensor, lambd?: number}
---@return torch.Tensor
function F.hardshrink(input, lambd, keywords) end

---the input moved towards 0 by lambd, 0 in between
---@param input torch.Tensor|table
---@param lambd? number
---@param keywords? {input?: torch.Tensor, lambd?: number}
---@return torch.Tensor
function F.softshrink(input, lambd, keywords) end

---the different values; on request also where each element went, and how many there are
---@param self torch.Tensor|table
---@param sorted? boolean
---@param return_inverse? boolean
---@param return_counts? boolean
---@param dim? integer|nil
---@param keywords? {self?: torch.Tensor, sorted?: boolean, return_inverse?: boolean, return_counts?: boolean, dim?: integer|nil}
---@return torch.Tensor
---@return torch.Tensor
---@return torch.Tensor
function torch.unique(self, sorted, return_inverse, return_counts, dim, keywords) end

---the different values; on request also where each element went, and how many there are
---@param sorted? boolean
---@param return_inverse? boolean
---@param return_counts? boolean
---@param dim? integer|nil
---@param keywords? {sorted?: boolean, return_inverse?: boolean, return_counts?: boolean, dim?: integer|nil}
---@return torch.Tensor
---@return torch.Tensor
---@return torch.Tensor
function Tensor:unique(sorted, return_inverse, return_counts, dim, keywords) end

---same size and same values: a boolean of Lua
---@param input torch.Tensor|table
---@param other? torch.Tensor
---@param keywords? {input?: torch.Tensor, other?: torch.Tensor}
---@return boolean
function torch.equal(input, other, keywords) end

---same size and same values: a boolean of Lua
---@param other torch.Tensor|table
---@param keywords? {other?: torch.Tensor}
---@return boolean
function Tensor:equal(other, keywords) end

---all |input - other| <= atol + rtol * |other|: a boolean of Lua
---@param input torch.Tensor|table
---@param other? torch.Tensor
---@param rtol? number
---@param atol? number
---@param equal_nan? boolean
---@param keywords? {input?: torch.Tensor, other?: torch.Tensor, rtol?: number, atol?: number, equal_nan?: boolean}
---@return boolean
function torch.allclose(input, other, rtol, atol, equal_nan, keywords) end

---all |input - other| <= atol + rtol * |other|: a boolean of Lua
---@param other torch.Tensor|table
---@param rtol? number
---@param atol? number
---@param equal_nan? boolean
---@param keywords? {other?: torch.Tensor, rtol?: number, atol?: number, equal_nan?: boolean}
---@return boolean
function Tensor:allclose(other, rtol, atol, equal_nan, keywords) end

---sums of products named by letters; the operands follow one by one
---@param equation string|table
---@param operands? torch.Tensor[]
---@param keywords? {equation?: string, operands?: torch.Tensor[]}
---@return torch.Tensor
function torch.einsum(equation, operands, keywords) end

---products summed over the last dims of a and the first of b, or over two lists of dims
---@param a torch.Tensor|table
---@param b? torch.Tensor
---@param dims? integer
---@param keywords? {a?: torch.Tensor, b?: torch.Tensor, dims?: integer}
---@return torch.Tensor
function torch.tensordot(a, b, dims, keywords) end

---a new tensor from a number, a boolean or nested lists; integers give int64, floats float32
---@param data any|table
---@param keywords? {data?: any, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean, pin_memory?: boolean}
---@return torch.Tensor
function torch.tensor(data, keywords) end

---as torch.tensor, but shares memory with a tensor or an np array where it can
---@param data any|table
---@param dtype? torch.dtype|nil
---@param device? torch.device|string|nil
---@param requires_grad? boolean
---@param keywords? {data?: any, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function torch.as_tensor(data, dtype, device, requires_grad, keywords) end

---a tensor on the memory of an np array: a change in one shows in the other
---@param array any|table
---@param keywords? {array?: any}
---@return torch.Tensor
function torch.from_numpy(array, keywords) end

---all random numbers start anew: PyTorch's numbers bit for bit
---@param seed integer|table
---@param keywords? {seed?: integer}
---@return any
function torch.manual_seed(seed, keywords) end

---a seed from the system's own randomness; returns it
---@return integer
function torch.seed() end

---the seed that was set last
---@return integer
function torch.initial_seed() end

---random numbers of its own, for generator=
---@param device? torch.device|string
---@param keywords? {device?: torch.device|string}
---@return any
function torch.Generator(device, keywords) end

---where the random numbers stand, as a uint8 tensor
---@return torch.Tensor
function torch.get_rng_state() end

---go back to a state of torch.get_rng_state()
---@param new_state torch.Tensor|table
---@param keywords? {new_state?: torch.Tensor}
function torch.set_rng_state(new_state, keywords) end

---writes tensors and what holds them (tables, numbers, texts) into a file that PyTorch reads, too: a model as model:state_dict(), an optimizer as opt:state_dict(), all in one table as a checkpoint. A file that is there is replaced once the new one is complete
function torch.save() end

---what torch.save wrote, here or in PyTorch: data only, always. A dict is a table that keeps the order of its keys, None in it the global None. map_location: a device for all tensors, a table from device to device, or a function of (storage, location)
---@param map_location? torch.device|string|nil
---@param keywords? {map_location?: torch.device|string|nil, weights_only?: boolean|nil}
function torch.load(map_location, keywords) end

---side by side: cat along dim 1, along dim 0 for vectors
---@param tensors torch.Tensor[]|table
---@param keywords? {tensors?: torch.Tensor[]}
---@return torch.Tensor
function torch.hstack(tensors, keywords) end

---side by side: cat along dim 1, along dim 0 for vectors
---@param tensors torch.Tensor[]|table
---@param keywords? {tensors?: torch.Tensor[]}
---@return torch.Tensor
function Tensor:hstack(tensors, keywords) end

---one below the other: cat along dim 0, vectors as rows
---@param tensors torch.Tensor[]|table
---@param keywords? {tensors?: torch.Tensor[]}
---@return torch.Tensor
function torch.vstack(tensors, keywords) end

---one below the other: cat along dim 0, vectors as rows
---@param tensors torch.Tensor[]|table
---@param keywords? {tensors?: torch.Tensor[]}
---@return torch.Tensor
function Tensor:vstack(tensors, keywords) end

---all tensors expanded to their common size; several results
---@param tensors torch.Tensor[]|table
---@param keywords? {tensors?: torch.Tensor[]}
---@return torch.Tensor[]
function torch.broadcast_tensors(tensors, keywords) end

---coordinates of a grid from the coordinates of its sides; several results
---@param tensors torch.Tensor[]|table
---@param keywords? {tensors?: torch.Tensor[], indexing?: string}
---@return torch.Tensor[]
function torch.meshgrid(tensors, keywords) end

---the only element as a number or boolean of Lua
---@return number
function Tensor:item() end

---nested plain lists, which count from 1
---@return table
function Tensor:tolist() end

---an np array on the same memory
---@param keywords? {force?: boolean}
---@return any
function Tensor:numpy(keywords) end

---all sizes, or one
---@param dim? integer|nil
---@param keywords? {dim?: integer|nil}
---@return any
function Tensor:size(dim, keywords) end

---steps between neighbours: one number, or all as a plain list
---@param dim? integer|nil
---@param keywords? {dim?: integer|nil}
---@return integer
function Tensor:stride(dim, keywords) end

---number of dims
---@return integer
function Tensor:dim() end

---number of dims
---@return integer
function Tensor:ndimension() end

---number of elements
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return integer
function torch.numel(input, keywords) end

---number of elements
---@return integer
function Tensor:numel() end

---number of elements
---@return integer
function Tensor:nelement() end

---bytes of an element
---@return integer
function Tensor:element_size() end

---first element's place in the memory
---@return integer
function Tensor:storage_offset() end

---address of the first element
---@return integer
function Tensor:data_ptr() end

---do the elements lie in order, without gaps?
---@return boolean
function Tensor:is_contiguous() end

---has it a floating dtype?
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return boolean
function torch.is_floating_point(input, keywords) end

---has it a floating dtype?
---@return boolean
function Tensor:is_floating_point() end

---has it a complex dtype? Never here
---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return boolean
function torch.is_complex(input, keywords) end

---has it a complex dtype? Never here
---@return boolean
function Tensor:is_complex() end

---was it made in inference_mode?
---@return boolean
function Tensor:is_inference() end

---is its memory pinned for a GPU?
---@return boolean
function Tensor:is_pinned() end

---memory that a GPU copies quickly
---@return torch.Tensor
function Tensor:pin_memory() end

---its memory is not handed out again before this stream has come so far
---@param stream any|table
---@param keywords? {stream?: any}
function Tensor:record_stream(stream, keywords) end

---memory that other processes see
---@return torch.Tensor
function Tensor:share_memory_() end

---number of its GPU, -1 on the CPU
---@return integer
function Tensor:get_device() end

---the same memory, sizes and strides?
---@param tensor torch.Tensor|table
---@param keywords? {tensor?: torch.Tensor}
---@return boolean
function Tensor:is_set_to(tensor, keywords) end

---the same sizes?
---@param other torch.Tensor|table
---@param keywords? {other?: torch.Tensor}
---@return boolean
function Tensor:is_same_size(other, keywords) end

---for i, row in x:enumerate() do: rows with their number from 0
function Tensor:enumerate() end

---another dtype or device; itself where nothing changes
---@param device? torch.device|string|nil
---@param dtype? torch.dtype|nil
---@param non_blocking? boolean
---@param copy? boolean
---@param keywords? {device?: torch.device|string|nil, dtype?: torch.dtype|nil, non_blocking?: boolean, copy?: boolean}
---@return torch.Tensor
function Tensor:to(device, dtype, non_blocking, copy, keywords) end

---the name of its type, or another dtype
---@param dtype? torch.dtype|nil
---@param keywords? {dtype?: torch.dtype|nil}
---@return torch.Tensor
function Tensor:type(dtype, keywords) end

---the dtype and device of other
---@param other torch.Tensor|table
---@param keywords? {other?: torch.Tensor}
---@return torch.Tensor
function Tensor:type_as(other, keywords) end

---a copy on the CPU, itself if it is there
---@return torch.Tensor
function Tensor:cpu() end

---a copy on a GPU
---@param device? torch.device|string|nil
---@param non_blocking? boolean
---@param keywords? {device?: torch.device|string|nil, non_blocking?: boolean}
---@return torch.Tensor
function Tensor:cuda(device, non_blocking, keywords) end

---as float32
---@return torch.Tensor
function Tensor:float() end

---as float64
---@return torch.Tensor
function Tensor:double() end

---as float16
---@return torch.Tensor
function Tensor:half() end

---as bfloat16
---@return torch.Tensor
function Tensor:bfloat16() end

---as int64, rounded towards 0
---@return torch.Tensor
function Tensor:long() end

---as int32, rounded towards 0
---@return torch.Tensor
function Tensor:int() end

---as int16
---@return torch.Tensor
function Tensor:short() end

---as int8
---@return torch.Tensor
function Tensor:char() end

---as int8
---@return torch.Tensor
function Tensor:int8() end

---as uint8
---@return torch.Tensor
function Tensor:byte() end

---as uint8
---@return torch.Tensor
function Tensor:uint8() end

---true where not 0
---@return torch.Tensor
function Tensor:bool() end

---zeros with the dtype and device of self
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function Tensor:new_zeros(size, ...) end

---ones with the dtype and device of self
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function Tensor:new_ones(size, ...) end

---unset elements with the dtype and device of self
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function Tensor:new_empty(size, ...) end

---one value, with the dtype and device of self
---@param size integer[]|integer|table
---@param fill_value? number
---@param keywords? {size?: integer[]|integer, fill_value?: number, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function Tensor:new_full(size, fill_value, keywords) end

---as torch.tensor, with the dtype and device of self
---@param data any|table
---@param keywords? {data?: any, dtype?: torch.dtype|nil, device?: torch.device|string|nil, requires_grad?: boolean}
---@return torch.Tensor
function Tensor:new_tensor(data, keywords) end

---gradients of this number for every leaf that it depends on, added to their .grad
---@param gradient? torch.Tensor|nil
---@param retain_graph? boolean|nil
---@param create_graph? boolean
---@param inputs? torch.Tensor[]|nil
---@param keywords? {gradient?: torch.Tensor|nil, retain_graph?: boolean|nil, create_graph?: boolean, inputs?: torch.Tensor[]|nil}
function Tensor:backward(gradient, retain_graph, create_graph, inputs, keywords) end

---let backward leave a gradient in this result too
function Tensor:retain_grad() end

---hook(grad) runs when the gradient of this tensor is known; what it returns replaces it
---@param hook function|table
---@param keywords? {hook?: function}
---@return any
function Tensor:register_hook(hook, keywords) end

---hook(x) runs when x.grad has been added to
---@param hook function|table
---@param keywords? {hook?: function}
---@return any
function Tensor:register_post_accumulate_grad_hook(hook, keywords) end

---begin (or stop) to record what is done with this leaf
---@param requires_grad? boolean
---@param keywords? {requires_grad?: boolean}
---@return torch.Tensor
function Tensor:requires_grad_(requires_grad, keywords) end

torch.autograd = {}
---x:backward() for several tensors at once
---@param tensors torch.Tensor[]|table
---@param grad_tensors? torch.Tensor[]|nil
---@param retain_graph? boolean|nil
---@param create_graph? boolean
---@param inputs? torch.Tensor[]|nil
---@param keywords? {tensors?: torch.Tensor[], grad_tensors?: torch.Tensor[]|nil, retain_graph?: boolean|nil, create_graph?: boolean, inputs?: torch.Tensor[]|nil}
function torch.autograd.backward(tensors, grad_tensors, retain_graph, create_graph, inputs, keywords) end

---gradients of outputs for inputs, returned, not stored
---@param outputs torch.Tensor[]|table
---@param inputs? torch.Tensor[]
---@param grad_outputs? torch.Tensor[]|nil
---@param retain_graph? boolean|nil
---@param create_graph? boolean
---@param is_grads_batched? boolean
---@param allow_unused? boolean|nil
---@param materialize_grads? boolean
---@param keywords? {outputs?: torch.Tensor[], inputs?: torch.Tensor[], grad_outputs?: torch.Tensor[]|nil, retain_graph?: boolean|nil, create_graph?: boolean, is_grads_batched?: boolean, allow_unused?: boolean|nil, materialize_grads?: boolean}
---@return torch.Tensor[]
function torch.autograd.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, is_grads_batched, allow_unused, materialize_grads, keywords) end

---do the gradients agree with differences? Inputs are float64 and require grad
---@param func function|table
---@param inputs? torch.Tensor[]
---@param keywords? {func?: function, inputs?: torch.Tensor[], eps?: number, atol?: number, rtol?: number, raise_exception?: boolean, nondet_tol?: number}
---@return boolean
function torch.autograd.gradcheck(func, inputs, keywords) end

---nothing is recorded inside f, or until the end of the block: local _ <close> = torch.no_grad()
---@param f? function
---@param keywords? {f?: function}
function torch.no_grad(f, keywords) end

---recording inside f, also within no_grad
---@param f? function
---@param keywords? {f?: function}
function torch.enable_grad(f, keywords) end

---as no_grad, and the results can never enter a graph
---@param mode? boolean
---@param f? function
---@param keywords? {mode?: boolean, f?: function}
function torch.inference_mode(mode, f, keywords) end

---recording on or off, inside f or from now on
---@param mode boolean|table
---@param f? function
---@param keywords? {mode?: boolean, f?: function}
function torch.set_grad_enabled(mode, f, keywords) end

---are operations recorded?
---@return boolean
function torch.is_grad_enabled() end

---is inference_mode on?
---@return boolean
function torch.is_inference_mode_enabled() end

---does backward look for nan?
---@return boolean
function torch.is_anomaly_enabled() end

---backward stops at the step that makes nan
---@param mode boolean|table
---@param f? function
---@param keywords? {mode?: boolean, f?: function}
function torch.autograd.set_detect_anomaly(mode, f, keywords) end

---inside f, backward stops at the step that makes nan
---@param f? function
---@param keywords? {f?: function}
function torch.autograd.detect_anomaly(f, keywords) end

---is it a tensor?
---@param obj any|table
---@param keywords? {obj?: any}
---@return boolean
function torch.is_tensor(obj, keywords) end

---sizes of a tensor: a list that counts from 0 and compares by value
---@param sizes integer[]|integer|table
---@param keywords? {sizes?: integer[]|integer}
---@return any
function torch.Size(sizes, keywords) end

---the class of tensors; called with sizes or a list it makes a float32 tensor
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.Tensor(size, ...) end

---a device by name
---@param type string|table
---@param index? integer|nil
---@param keywords? {type?: string, index?: integer|nil}
---@return torch.device
function torch.device(type, index, keywords) end

---limits of a floating dtype: .max .min .eps .tiny .bits
---@param type? torch.dtype|nil
---@param keywords? {type?: torch.dtype|nil}
---@return any
function torch.finfo(type, keywords) end

---limits of an integer dtype: .max .min .bits
---@param type torch.dtype|table
---@param keywords? {type?: torch.dtype}
---@return any
function torch.iinfo(type, keywords) end

---the smallest dtype that holds both
---@param type1 torch.dtype|table
---@param type2? torch.dtype
---@param keywords? {type1?: torch.dtype, type2?: torch.dtype}
---@return torch.dtype
function torch.promote_types(type1, type2, keywords) end

---the dtype that an operation on both would give
---@param tensor1 torch.Tensor|number|table
---@param tensor2? torch.Tensor|number
---@param keywords? {tensor1?: torch.Tensor|number, tensor2?: torch.Tensor|number}
---@return torch.dtype
function torch.result_type(tensor1, tensor2, keywords) end

---does the conversion stay within the kind?
---@param from_ torch.dtype|table
---@param to? torch.dtype
---@param keywords? {from_?: torch.dtype, to?: torch.dtype}
---@return boolean
function torch.can_cast(from_, to, keywords) end

---the dtype of new floating tensors
---@return torch.dtype
function torch.get_default_dtype() end

---change the dtype of new floating tensors
---@param d torch.dtype|table
---@param keywords? {d?: torch.dtype}
function torch.set_default_dtype(d, keywords) end

---how many threads compute
---@return integer
function torch.get_num_threads() end

---how many threads compute
---@param n integer|table
---@param keywords? {n?: integer}
function torch.set_num_threads(n, keywords) end

---how tensors print
---@param precision? integer|nil
---@param threshold? integer|nil
---@param edgeitems? integer|nil
---@param linewidth? integer|nil
---@param profile? string|nil
---@param sci_mode? boolean|nil
---@param keywords? {precision?: integer|nil, threshold?: integer|nil, edgeitems?: integer|nil, linewidth?: integer|nil, profile?: string|nil, sci_mode?: boolean|nil}
function torch.set_printoptions(precision, threshold, edgeitems, linewidth, profile, sci_mode, keywords) end

---gives its input back; any arguments are taken and forgotten
function nn.Identity() end

---the class of all layers; nn.Module:class("Net") makes one of your own
function nn.Module() end

---layers one after the other; model[0] is the first
function nn.Sequential() end

---a list of layers that are registered; counts from 0
---@param modules? table
---@param keywords? {modules?: table}
function nn.ModuleList(modules, keywords) end

---layers by name; a list of pairs keeps their order
---@param modules? table
---@param keywords? {modules?: table}
function nn.ModuleDict(modules, keywords) end

---a list of parameters that are registered
---@param values? table
---@param keywords? {values?: table}
function nn.ParameterList(values, keywords) end

---parameters by name
---@param parameters? table
---@param keywords? {parameters?: table}
function nn.ParameterDict(parameters, keywords) end

---a tensor that a module registers and an optimizer changes
---@param data torch.Tensor|table
---@param requires_grad? boolean
---@param keywords? {data?: torch.Tensor, requires_grad?: boolean}
function nn.Parameter(data, requires_grad, keywords) end

---what the layer computes; define it in your class, call the module itself
function Module:forward() end

---sets a new module up; define it in your class
function Module:init() end

---a class made from this one
---@param name string|table
---@param keywords? {name?: string}
function Module:class(name, keywords) end

---the modules directly below
---@return table
function Module:children() end

---the modules directly below, with their names
function Module:named_children() end

---this module and all below
---@return table
function Module:modules() end

---evaluation mode
---@return any
function Module:eval() end

---freeze (false) or free all parameters
---@param requires_grad? boolean
---@param keywords? {requires_grad?: boolean}
---@return any
function Module:requires_grad_(requires_grad, keywords) end

---all parameters and buffers to the CPU
---@return any
function Module:cpu() end

---all parameters and buffers to a GPU
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return any
function Module:cuda(device, keywords) end

---floating parameters and buffers as float32
---@return any
function Module:float() end

---floating parameters and buffers as float64
---@return any
function Module:double() end

---floating parameters and buffers as float16
---@return any
function Module:half() end

---floating parameters and buffers as bfloat16
---@return any
function Module:bfloat16() end

---all parameters and buffers as this dtype
---@param dst_type torch.dtype|table
---@param keywords? {dst_type?: torch.dtype}
---@return any
function Module:type(dst_type, keywords) end

---f(module) for every module below, then for this one
---@param f function|table
---@param keywords? {f?: function}
---@return any
function Module:apply(f, keywords) end

---make a parameter part of the module
---@param name string|table
---@param param? torch.Tensor|nil
---@param keywords? {name?: string, param?: torch.Tensor|nil}
function Module:register_parameter(name, param, keywords) end

---make a module part of this one
---@param name string|table
---@param module? any|nil
---@param keywords? {name?: string, module?: any|nil}
function Module:register_module(name, module, keywords) end

---make a module part of this one
---@param name string|table
---@param module? any|nil
---@param keywords? {name?: string, module?: any|nil}
function Module:add_module(name, module, keywords) end

---the parameter with a dotted name
---@param target string|table
---@param keywords? {target?: string}
---@return torch.Tensor
function Module:get_parameter(target, keywords) end

---the buffer with a dotted name
---@param target string|table
---@param keywords? {target?: string}
---@return torch.Tensor
function Module:get_buffer(target, keywords) end

---the module with a dotted name
---@param target string|table
---@param keywords? {target?: string}
---@return any
function Module:get_submodule(target, keywords) end

---what stands between the brackets when a module prints; define it in your class
---@return string
function Module:extra_repr() end

---the class of all optimizers
function optim.Optimizer() end

---ones
---@param tensor torch.Tensor|table
---@param keywords? {tensor?: torch.Tensor}
---@return torch.Tensor
function nn.init.ones_(tensor, keywords) end

---zeros
---@param tensor torch.Tensor|table
---@param keywords? {tensor?: torch.Tensor}
---@return torch.Tensor
function nn.init.zeros_(tensor, keywords) end

---the identity
---@param tensor torch.Tensor|table
---@param keywords? {tensor?: torch.Tensor}
---@return torch.Tensor
function nn.init.eye_(tensor, keywords) end

---uniform, scaled by fan_in + fan_out
---@param tensor torch.Tensor|table
---@param gain? number
---@param generator? torch.Generator|nil
---@param keywords? {tensor?: torch.Tensor, gain?: number, generator?: torch.Generator|nil}
---@return torch.Tensor
function nn.init.xavier_uniform_(tensor, gain, generator, keywords) end

---normal, scaled by fan_in + fan_out
---@param tensor torch.Tensor|table
---@param gain? number
---@param generator? torch.Generator|nil
---@param keywords? {tensor?: torch.Tensor, gain?: number, generator?: torch.Generator|nil}
---@return torch.Tensor
function nn.init.xavier_normal_(tensor, gain, generator, keywords) end

---uniform, scaled for relu and its kin
---@param tensor torch.Tensor|table
---@param a? number
---@param mode? string
---@param nonlinearity? string
---@param generator? torch.Generator|nil
---@param keywords? {tensor?: torch.Tensor, a?: number, mode?: string, nonlinearity?: string, generator?: torch.Generator|nil}
---@return torch.Tensor
function nn.init.kaiming_uniform_(tensor, a, mode, nonlinearity, generator, keywords) end

---normal, scaled for relu and its kin
---@param tensor torch.Tensor|table
---@param a? number
---@param mode? string
---@param nonlinearity? string
---@param generator? torch.Generator|nil
---@param keywords? {tensor?: torch.Tensor, a?: number, mode?: string, nonlinearity?: string, generator?: torch.Generator|nil}
---@return torch.Tensor
function nn.init.kaiming_normal_(tensor, a, mode, nonlinearity, generator, keywords) end

---all parameters in one vector
---@param parameters torch.Tensor[]|table
---@param keywords? {parameters?: torch.Tensor[]}
---@return torch.Tensor
function nn.utils.parameters_to_vector(parameters, keywords) end

---write a vector back into the parameters
---@param vec torch.Tensor|table
---@param parameters? torch.Tensor[]
---@param keywords? {vec?: torch.Tensor, parameters?: torch.Tensor[]}
function nn.utils.vector_to_parameters(vec, parameters, keywords) end

---sample i is row i of every tensor
---@param tensors torch.Tensor[]|torch.Tensor|table
---@param ... integer|table
function torch.utils.data.TensorDataset(tensors, ...) end

---one data set after the other
---@param datasets table|table
---@param keywords? {datasets?: table}
function torch.utils.data.ConcatDataset(datasets, keywords) end

---some samples of a data set
---@param dataset any|table
---@param indices? integer[]|integer
---@param keywords? {dataset?: any, indices?: integer[]|integer}
function torch.utils.data.Subset(dataset, indices, keywords) end

---a data set in random parts, by lengths or shares
---@param dataset any|table
---@param lengths? table
---@param generator? torch.Generator|nil
---@param keywords? {dataset?: any, lengths?: table, generator?: torch.Generator|nil}
---@return table
function torch.utils.data.random_split(dataset, lengths, generator, keywords) end

---samples become a batch: tensors are stacked, numbers become tensors
---@param samples table|table
---@param keywords? {samples?: table}
function torch.utils.data.default_collate(samples, keywords) end

---0, 1, 2 …
---@param data_source any|table
---@param keywords? {data_source?: any}
function torch.utils.data.SequentialSampler(data_source, keywords) end

torchvision = {}
torchvision.datasets = {}
---handwritten digits, read from idx files in root or in the system's folder
---@param root string|table
---@param train? boolean
---@param transform? function|nil
---@param target_transform? function|nil
---@param download? boolean
---@param keywords? {root?: string, train?: boolean, transform?: function|nil, target_transform?: function|nil, download?: boolean}
function torchvision.datasets.MNIST(root, train, transform, target_transform, download, keywords) end

---pictures of clothes, read from idx files in root or in the system's folder
---@param root string|table
---@param train? boolean
---@param transform? function|nil
---@param target_transform? function|nil
---@param download? boolean
---@param keywords? {root?: string, train?: boolean, transform?: function|nil, target_transform?: function|nil, download?: boolean}
function torchvision.datasets.FashionMNIST(root, train, transform, target_transform, download, keywords) end

torchvision.transforms = {}
---one transform after the other
---@param transforms table|table
---@param keywords? {transforms?: table}
function torchvision.transforms.Compose(transforms, keywords) end

---a function as a transform
---@param lambd function|table
---@param keywords? {lambd?: function}
function torchvision.transforms.Lambda(lambd, keywords) end

---bytes 0 … 255 become float32 in [0, 1], with a channel dim
function torchvision.transforms.ToTensor() end

---a picture as bytes with a channel dim
function torchvision.transforms.PILToTensor() end

---another dtype, values scaled to its range
---@param dtype torch.dtype|table
---@param keywords? {dtype?: torch.dtype}
function torchvision.transforms.ConvertImageDtype(dtype, keywords) end

---(x - mean) / std for each channel
---@param mean number[]|number|table
---@param std? number[]|number
---@param inplace? boolean
---@param keywords? {mean?: number[]|number, std?: number[]|number, inplace?: boolean}
function torchvision.transforms.Normalize(mean, std, inplace, keywords) end

---mirrored with probability p
---@param p? number
---@param keywords? {p?: number}
function torchvision.transforms.RandomHorizontalFlip(p, keywords) end

dlrepl = {}
---seconds of a clock that never goes back, for measuring
---@return number
function dlrepl.clock() end

---what this machine has, what is missing, and the next step
function dlrepl.doctor() end

---a bar with rate and time left around a loop; plain lines where there is no terminal; bar:set{loss=…} shows values, bar:update(n) advances by hand
---@param iterable any|table
---@param keywords? {iterable?: any, total?: number|nil, desc?: any|nil, unit?: string, scale?: number, out?: any}
function dlrepl.progress(iterable, keywords) end

---a line as text: y against x, a list or tensor against its positions, {train=a, valid=b}; a matrix as a heat map; also plot.scatter(x, y), plot.hist(x, {bins=20, range={a, b}}), plot.image(m)
---@param x any|table
---@param y? any
---@param keywords? {x?: any, y?: any, title?: string|nil, columns?: number|nil, height?: number|nil, ascii?: boolean}
function dlrepl.plot(x, y, keywords) end

---prints an image in shades of grey, of a batch the first four; a notebook shows a picture, or a grid of up to 64
---@param image torch.Tensor|table
---@param keywords? {image?: torch.Tensor, title?: string|nil, columns?: number|nil, height?: number|nil, ascii?: boolean}
function dlrepl.show(image, keywords) end

---a line from the keyboard, as Python's input(): the prompt is printed first; a notebook shows a field. nil at the end of the input
---@param prompt? string
---@param keywords? {prompt?: string}
---@return string
function torch.input(prompt, keywords) end

---a line from the keyboard, as Python's input(): the prompt is printed first; a notebook shows a field. nil at the end of the input
---@param prompt? string
---@param keywords? {prompt?: string}
---@return string
function Tensor:input(prompt, keywords) end

---show a value in the middle of a notebook's cell, as the value of a cell looks; with display_id=true it returns what d:update(value) changes later. Elsewhere it prints. A table of your own shows itself through methods _repr_html_, _repr_png_, _repr_svg_, _repr_markdown_, _repr_mimebundle_
---@param value any|table
---@param keywords? {value?: any, display_id?: any|nil}
---@return any
function dlrepl.display(value, keywords) end

---empty the output of the notebook's cell that runs; with wait only when the next output comes. At a prompt nothing happens
---@param wait? boolean
---@param keywords? {wait?: boolean}
function dlrepl.clear_output(wait, keywords) end

---the autograd graph behind a tensor, down to its leaves: text at the prompt, a drawing in a notebook; leaves are named from a model or {name=leaf, …}
---@param result any|table
---@param names? any|nil
---@param keywords? {result?: any, names?: any|nil}
---@return any
function dlrepl.graph(result, names, keywords) end

---raise an error as dlrepl does, for code that wants to be told apart
---@param class string|table
---@param message? string
---@param fields? table|nil
---@param keywords? {class?: string, message?: string, fields?: table|nil}
function dlrepl.raise(class, message, fields, keywords) end

---a UserWarning on standard error
---@param message string|table
---@param keywords? {message?: string}
function dlrepl.warn(message, keywords) end

---is m made by this class of modules, or by one made from it?
---@param m any|table
---@param keywords? {m?: any}
---@return boolean
function dlrepl.isinstance(m, keywords) end

---is a GPU simulated? See dlrepl.simulate
---@return boolean
function dlrepl.is_simulated() end

---this help: help(x.sum), help("torch.sum"), ?torch.sum, x:sum?
---@param what? any
---@param keywords? {what?: any}
function help(what, keywords) end

np = {}
---an array from nested lists or a tensor; floats are float64
---@param data any|table
---@param dtype? torch.dtype|nil
---@param keywords? {data?: any, dtype?: torch.dtype|nil}
---@return any
function np.array(data, dtype, keywords) end

---as np.array
---@param data any|table
---@param dtype? torch.dtype|nil
---@param keywords? {data?: any, dtype?: torch.dtype|nil}
---@return any
function np.asarray(data, dtype, keywords) end

---zeros
---@param shape integer[]|integer|table
---@param dtype? torch.dtype|nil
---@param keywords? {shape?: integer[]|integer, dtype?: torch.dtype|nil}
---@return any
function np.zeros(shape, dtype, keywords) end

---ones
---@param shape integer[]|integer|table
---@param dtype? torch.dtype|nil
---@param keywords? {shape?: integer[]|integer, dtype?: torch.dtype|nil}
---@return any
function np.ones(shape, dtype, keywords) end

---evenly spaced numbers, stop not included
---@param start number|table
---@param stop? number
---@param step? number
---@param keywords? {start?: number, stop?: number, step?: number}
---@return any
function np.arange(start, stop, step, keywords) end

---num numbers from start to stop
---@param start number|table
---@param stop? number
---@param num? integer
---@param keywords? {start?: number, stop?: number, num?: integer}
---@return any
function np.linspace(start, stop, num, keywords) end

---write a .npy file
---@param file string|table
---@param arr? any
---@param keywords? {file?: string, arr?: any}
function np.save(file, arr, keywords) end

---read a .npy file
---@param file string|table
---@param keywords? {file?: string}
---@return any
function np.load(file, keywords) end

---where tensors are made that name no device; None: the CPU
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
function torch.set_default_device(device, keywords) end

---where tensors are made that name no device
---@return torch.device
function torch.get_default_device() end

torch.cuda = {}
---is there a GPU to compute on?
---@return boolean
function torch.cuda.is_available() end

---how many GPUs
---@return integer
function torch.cuda.device_count() end

---has a GPU been used?
---@return boolean
function torch.cuda.is_initialized() end

---random numbers of the GPU start anew; without one nothing happens
---@param seed integer|table
---@param keywords? {seed?: integer}
function torch.cuda.manual_seed(seed, keywords) end

---random numbers of all GPUs start anew; without one nothing happens
---@param seed integer|table
---@param keywords? {seed?: integer}
function torch.cuda.manual_seed_all(seed, keywords) end

---give unused memory of the GPU back; without one nothing happens
function torch.cuda.empty_cache() end

---bytes of living tensors on the GPU, each rounded up to 512, cuBLAS's workspace with them
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return integer
function torch.cuda.memory_allocated(device, keywords) end

---their peak; in long loops it may hold garbage that Python would have freed: dlrepl.exact_memory(true)
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return integer
function torch.cuda.max_memory_allocated(device, keywords) end

---bytes taken from the GPU, in segments of 2 MiB, 20 MiB or more that are kept for reuse
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return integer
function torch.cuda.memory_reserved(device, keywords) end

---number of the GPU in use
---@return integer
function torch.cuda.current_device() end

---wait until the GPU has done everything
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
function torch.cuda.synchronize(device, keywords) end

---the most bytes that were taken from the GPU
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return integer
function torch.cuda.max_memory_reserved(device, keywords) end

---tensors made with device="cuda" go to this GPU from now on
---@param device torch.device|string|table
---@param keywords? {device?: torch.device|string}
function torch.cuda.set_device(device, keywords) end

---another current GPU while fn runs, or until the guard closes
---@param device torch.device|string|table
---@param fn? any|nil
---@param keywords? {device?: torch.device|string, fn?: any|nil}
function torch.cuda.device(device, fn, keywords) end

---the card's compute capability, for example 7 and 5
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return integer
---@return integer
function torch.cuda.get_device_capability(device, keywords) end

---name, total_memory, multi_processor_count and more of a card
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return any
function torch.cuda.get_device_properties(device, keywords) end

---may one GPU read another's memory directly?
---@param device torch.device|string|table
---@param peer_device? torch.device|string
---@param keywords? {device?: torch.device|string, peer_device?: torch.device|string}
---@return boolean
function torch.cuda.can_device_access_peer(device, peer_device, keywords) end

---per cent of the time since the last call in which some kernel ran
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return integer
function torch.cuda.utilization(device, keywords) end

---a queue of work on a GPU; streams run beside each other
---@param device? torch.device|string|nil
---@param priority? integer
---@param keywords? {device?: torch.device|string|nil, priority?: integer}
function torch.cuda.Stream(device, priority, keywords) end

---a mark in a stream: wait for it, or measure the time between two
---@param enable_timing? boolean
---@param blocking? boolean
---@param keywords? {enable_timing?: boolean, blocking?: boolean}
function torch.cuda.Event(enable_timing, blocking, keywords) end

---launch into this stream while fn runs, or until the guard closes
---@param stream any|table
---@param fn? any|nil
---@param keywords? {stream?: any, fn?: any|nil}
function torch.cuda.stream(stream, fn, keywords) end

---the stream that work goes to now
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return any
function torch.cuda.current_stream(device, keywords) end

---the stream that work goes to at first
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return any
function torch.cuda.default_stream(device, keywords) end

---work goes to this stream from now on
---@param stream any|table
---@param keywords? {stream?: any}
function torch.cuda.set_stream(stream, keywords) end

---random numbers of the GPU start at a place that nobody chose
function torch.cuda.seed() end

---the same for every GPU
function torch.cuda.seed_all() end

---the seed that the GPU's random numbers started from
---@return integer
function torch.cuda.initial_seed() end

---where the GPU's random numbers stand: seed and offset, 16 bytes
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return torch.Tensor
function torch.cuda.get_rng_state(device, keywords) end

---go on from a state that get_rng_state gave
---@param new_state torch.Tensor|table
---@param device? torch.device|string|nil
---@param keywords? {new_state?: torch.Tensor, device?: torch.device|string|nil}
function torch.cuda.set_rng_state(new_state, device, keywords) end

---"warn" or "error" when the host waits for the GPU without being asked to
function torch.cuda.set_sync_debug_mode() end

---0 silent, 1 warn, 2 raise
---@return integer
function torch.cuda.get_sync_debug_mode() end

---can the card compute in bfloat16? (before Ampere it emulates that, slowly)
---@param including_emulation? boolean
---@param keywords? {including_emulation?: boolean}
---@return boolean
function torch.cuda.is_bf16_supported(including_emulation, keywords) end

---can float32 products use tensor cores at 10 bits of mantissa?
---@return boolean
function torch.cuda.is_tf32_supported() end

---the architectures that kernels were built for; empty without a GPU
---@return table
function torch.cuda.get_arch_list() end

---start CUDA now and not at first use
function torch.cuda.init() end

---the GPU of a tensor is the current one while fn runs
---@param obj torch.Tensor|table
---@param fn? any|nil
---@param keywords? {obj?: torch.Tensor, fn?: any|nil}
function torch.cuda.device_of(obj, fn, keywords) end

---a simulated GPU: capacity, allocator, errors and a clock of its own, on any machine; dlrepl.simulate(false) ends it
---@param card? any
---@param more? table|nil
---@param keywords? {card?: any, more?: table|nil}
---@return any
function dlrepl.simulate(card, more, keywords) end

---the cards that can be simulated; with a name its figures, each with unit, kind, source, date and confidence
---@param name? string|nil
---@param keywords? {name?: string|nil}
function dlrepl.cards(name, keywords) end

---what the simulated GPU has done: clock, utilisation, MFU, kernels, copies, waits, with error bands
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
function dlrepl.gpu(device, keywords) end

---what a GPU does in a second: copies, products by dtype and launches, beside CUDA's own libraries and the data sheet; size: the side of the matrices
---@param device? torch.device|string|nil
---@param size? integer|nil
---@param keywords? {device?: torch.device|string|nil, size?: integer|nil}
function dlrepl.measure(device, size, keywords) end

---a lost GPU starts afresh; its tensors are gone, those on the CPU are not
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
function dlrepl.reset_device(device, keywords) end

---the card's name
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return string
function torch.cuda.get_device_name(device, keywords) end

---an old spelling: torch.tensor with dtype float32
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.FloatTensor(size, ...) end

---an old spelling: torch.tensor with dtype float64
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.DoubleTensor(size, ...) end

---an old spelling: torch.tensor with dtype float16
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.HalfTensor(size, ...) end

---an old spelling: torch.tensor with dtype bfloat16
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.BFloat16Tensor(size, ...) end

---an old spelling: torch.tensor with dtype int64
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.LongTensor(size, ...) end

---an old spelling: torch.tensor with dtype int32
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.IntTensor(size, ...) end

---an old spelling: torch.tensor with dtype int16
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.ShortTensor(size, ...) end

---an old spelling: torch.tensor with dtype int8
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.CharTensor(size, ...) end

---an old spelling: torch.tensor with dtype uint8
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.ByteTensor(size, ...) end

---an old spelling: torch.tensor with dtype bool
---@param size integer[]|integer|table
---@param ... integer|table
---@return torch.Tensor
function torch.BoolTensor(size, ...) end

torch.cuda.memory = {}
---from now on what the pools do is remembered, for _snapshot; enabled=None ends it and forgets
---@param enabled? string|nil
---@param context? string|nil
---@param stacks? string
---@param max_entries? integer
---@param keywords? {enabled?: string|nil, context?: string|nil, stacks?: string, max_entries?: integer}
function torch.cuda.memory._record_memory_history(enabled, context, stacks, max_entries, keywords) end

---segments, blocks and the remembered events of every GPU, as PyTorch's table has them
---@return table
function torch.cuda.memory._snapshot() end

---the same as a file, which pytorch.org/memory_viz draws
---@param filename? string
---@param keywords? {filename?: string}
function torch.cuda.memory._dump_snapshot(filename, keywords) end

---every figure of the allocator by a key such as "allocated_bytes.all.peak", in order; no GPU, no keys
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return table
function torch.cuda.memory_stats(device, keywords) end

---the same, table in table
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return table
function torch.cuda.memory_stats_as_nested_dict(device, keywords) end

---the figures as a table to print
---@param device? torch.device|string|nil
---@param abbreviated? boolean
---@param keywords? {device?: torch.device|string|nil, abbreviated?: boolean}
---@return string
function torch.cuda.memory_summary(device, abbreviated, keywords) end

---the segments taken from the GPU with their blocks, by address
---@return table
function torch.cuda.memory_snapshot() end

---free bytes of the GPU and all of it, other programs counted
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return integer
---@return integer
function torch.cuda.mem_get_info(device, keywords) end

---peaks begin anew at what lives now
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
function torch.cuda.reset_peak_memory_stats(device, keywords) end

---what was counted since the start (allocated, freed, retries, OOMs) begins anew
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
function torch.cuda.reset_accumulated_memory_stats(device, keywords) end

---never take more than this share of the GPU's memory
---@param fraction number|table
---@param device? torch.device|string|nil
---@param keywords? {fraction?: number, device?: torch.device|string|nil}
function torch.cuda.set_per_process_memory_fraction(fraction, device, keywords) end

---that share, 1.0 at first
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return number
function torch.cuda.get_per_process_memory_fraction(device, keywords) end

---always "native"
---@return string
function torch.cuda.get_allocator_backend() end

---an old name of memory_reserved
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return integer
function torch.cuda.memory_cached(device, keywords) end

---an old name of max_memory_reserved
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
---@return integer
function torch.cuda.max_memory_cached(device, keywords) end

---an old name of reset_peak_memory_stats
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
function torch.cuda.reset_max_memory_allocated(device, keywords) end

---an old name of reset_peak_memory_stats
---@param device? torch.device|string|nil
---@param keywords? {device?: torch.device|string|nil}
function torch.cuda.reset_max_memory_cached(device, keywords) end

---collect garbage before every allocation on a GPU, so that figures and peaks hold none; was it on?
---@param on? boolean|nil
---@param keywords? {on?: boolean|nil}
---@return boolean
function dlrepl.exact_memory(on, keywords) end

---a slice for an index, as Python's a:b:step
---@param start? integer|nil
---@param stop? integer|nil
---@param step? integer|nil
---@param keywords? {start?: integer|nil, stop?: integer|nil, step?: integer|nil}
function torch.slice(start, stop, step, keywords) end

---a slice for an index, as Python's a:b:step
---@param start? integer|nil
---@param stop? integer|nil
---@param step? integer|nil
---@param keywords? {start?: integer|nil, stop?: integer|nil, step?: integer|nil}
function Tensor:slice(start, stop, step, keywords) end

dlrepl.plot = {}
---values against their positions, or y against x; several series in a table by name
---@param x any|table
---@param y? any
---@param keywords? {x?: any, y?: any, title?: string|nil, columns?: number|nil, height?: number|nil, ascii?: boolean}
function dlrepl.plot.lines(x, y, keywords) end

---points of y against x
---@param x any|table
---@param y? any
---@param keywords? {x?: any, y?: any, title?: string|nil, columns?: number|nil, height?: number|nil, ascii?: boolean}
function dlrepl.plot.scatter(x, y, keywords) end

---how many values lie in each of bins intervals
---@param x any|table
---@param keywords? {x?: any, bins?: integer|nil, range?: table|nil, title?: string|nil, columns?: number|nil, height?: number|nil, ascii?: boolean}
function dlrepl.plot.hist(x, keywords) end

---named values as bars, the largest first; {{name, value}, …} keeps its order; units "s" and "B" are scaled
---@param values table|table
---@param keywords? {values?: table, unit?: string|nil, title?: string|nil, columns?: number|nil, ascii?: boolean}
function dlrepl.plot.bars(values, keywords) end

---values that add up over x, such as memory by role: {name=values, …}
---@param x any|table
---@param parts? table
---@param keywords? {x?: any, parts?: table, unit?: string|nil, title?: string|nil, columns?: number|nil, height?: number|nil, ascii?: boolean}
function dlrepl.plot.stack(x, parts, keywords) end

---a matrix as shades, an image as a picture in text
---@param matrix torch.Tensor|table
---@param keywords? {matrix?: torch.Tensor, range?: table|nil, title?: string|nil, columns?: number|nil, height?: number|nil, ascii?: boolean}
function dlrepl.plot.image(matrix, keywords) end

---inside f, or until the end of the block, each op runs in the dtype PyTorch's lists give it
---@param device_type string|table
---@param dtype? torch.dtype|nil
---@param enabled? boolean
---@param cache_enabled? boolean|nil
---@param f? function|nil
---@param keywords? {device_type?: string, dtype?: torch.dtype|nil, enabled?: boolean, cache_enabled?: boolean|nil, f?: function|nil}
function torch.autocast(device_type, dtype, enabled, cache_enabled, f, keywords) end

torch.amp = {}
---the same as torch.autocast
---@param device_type string|table
---@param dtype? torch.dtype|nil
---@param enabled? boolean
---@param cache_enabled? boolean|nil
---@param f? function|nil
---@param keywords? {device_type?: string, dtype?: torch.dtype|nil, enabled?: boolean, cache_enabled?: boolean|nil, f?: function|nil}
function torch.amp.autocast(device_type, dtype, enabled, cache_enabled, f, keywords) end

---multiplies the loss so that float16 gradients do not vanish, divides them before the step, skips steps with inf or nan
---@param device? string
---@param init_scale? number
---@param growth_factor? number
---@param backoff_factor? number
---@param growth_interval? integer
---@param enabled? boolean
---@param keywords? {device?: string, init_scale?: number, growth_factor?: number, backoff_factor?: number, growth_interval?: integer, enabled?: boolean}
function torch.amp.GradScaler(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled, keywords) end

---a forward for torch.autograd.Function that remembers its autocast region; cast_inputs gives its tensors a dtype and turns autocast off
---@param fwd function|table
---@param keywords? {fwd?: function, device_type?: string, cast_inputs?: torch.dtype|nil}
function torch.amp.custom_fwd(fwd, keywords) end

---a backward that runs in the autocast region of its forward (see torch.amp.custom_fwd)
---@param bwd function|table
---@param keywords? {bwd?: function, device_type?: string}
function torch.amp.custom_bwd(bwd, keywords) end

---does autocast know this kind of device?
---@param device_type string|table
---@param keywords? {device_type?: string}
function torch.amp.is_autocast_available(device_type, keywords) end

---the 16-bit dtype that autocast uses on a kind of device
---@param device_type string|table
---@param keywords? {device_type?: string}
function torch.get_autocast_dtype(device_type, keywords) end

---choose that dtype for regions that do not name one
---@param device_type string|table
---@param dtype? torch.dtype
---@param keywords? {device_type?: string, dtype?: torch.dtype}
function torch.set_autocast_dtype(device_type, dtype, keywords) end

---is a region on for this kind of device?
---@param device_type? string
---@param keywords? {device_type?: string}
function torch.is_autocast_enabled(device_type, keywords) end

---turn autocast on or off without a region
---@param device_type string|table
---@param enabled? boolean
---@param keywords? {device_type?: string, enabled?: boolean}
function torch.set_autocast_enabled(device_type, enabled, keywords) end

---are casts of weights kept until the outermost region ends?
function torch.is_autocast_cache_enabled() end

---keep casts of weights within a region, or not
---@param enabled boolean|table
---@param keywords? {enabled?: boolean}
function torch.set_autocast_cache_enabled(enabled, keywords) end

---forget the casts of weights
function torch.clear_autocast_cache() end

---deprecated: torch.is_autocast_enabled('cpu')
function torch.is_autocast_cpu_enabled() end

---deprecated: torch.get_autocast_dtype('cpu')
function torch.get_autocast_cpu_dtype() end

---deprecated: torch.get_autocast_dtype('cuda')
function torch.get_autocast_gpu_dtype() end

torch.utils.checkpoint = {}
---function(args) without keeping its activations: backward runs it again
---@param Function function|table
---@param args? any
---@param keywords? {Function?: function, args?: any, use_reentrant?: boolean|nil, preserve_rng_state?: boolean, determinism_check?: string, early_stop?: boolean}
function torch.utils.checkpoint.checkpoint(Function, args, keywords) end

---a Sequential in segments, all but the last checkpointed
---@param functions any|table
---@param segments? integer
---@param input? torch.Tensor
---@param keywords? {functions?: any, segments?: integer, input?: torch.Tensor, use_reentrant?: boolean|nil, preserve_rng_state?: boolean}
function torch.utils.checkpoint.checkpoint_sequential(functions, segments, input, keywords) end

---inside f, or until the end of the block: does the second run stop once all that was saved is there?
---@param enable boolean|table
---@param f? function|nil
---@param keywords? {enable?: boolean, f?: function|nil}
function torch.utils.checkpoint.set_checkpoint_early_stop(enable, f, keywords) end

torch.autograd.graph = {}
---inside f each tensor that backward will need passes pack; backward asks unpack for it
---@param pack function|table
---@param unpack? function
---@param f? function|nil
---@param keywords? {pack?: function, unpack?: function, f?: function|nil}
function torch.autograd.graph.saved_tensors_hooks(pack, unpack, f, keywords) end

---inside f, or until the end of the block, saved_tensors_hooks raises this message
---@param error_message string|table
---@param f? function|nil
---@param keywords? {error_message?: string, f?: function|nil}
function torch.autograd.graph.disable_saved_tensors_hooks(error_message, f, keywords) end

---inside f, what backward will need waits in host memory
---@param pin_memory? boolean
---@param device_type? string
---@param f? function|nil
---@param keywords? {pin_memory?: boolean, device_type?: string, f?: function|nil}
function torch.autograd.graph.save_on_cpu(pin_memory, device_type, f, keywords) end

---bytes by role on each device, by module, and the graphs that are held; with a function: its peak and a timeline
---@param function_or_module? any
---@param module_or_function? any
---@param keywords? {function_or_module?: any, module_or_function?: any}
function dlrepl.report(function_or_module, module_or_function, keywords) end

---what f did: ops, kernels, FLOPs, memory by role, copies, graph nodes, steps, hooks that ran, the wait for a loader, values lost in 16 bits; options: watch=model, exact=true; fields in docs/run-record.md
---@param f function|table
---@param options? any|nil
---@param keywords? {f?: function, options?: any|nil}
function dlrepl.record(f, options, keywords) end

---who keeps autograd graphs alive: variable or table path, nodes, bytes, since when
function dlrepl.graphs() end

---a batch in pieces, each with its share, for gradient accumulation
---@param pieces integer|table
---@param batch? torch.Tensor
---@param more? any
---@param keywords? {pieces?: integer, batch?: torch.Tensor, more?: any}
function dlrepl.accumulate(pieces, batch, more, keywords) end

Dataset, DataLoader = torch.utils.data.Dataset, torch.utils.data.DataLoader
TensorDataset = torch.utils.data.TensorDataset
