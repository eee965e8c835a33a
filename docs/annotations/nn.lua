---@meta
-- Written by `make docs`. For the Lua language server: put this folder into workspace.library.

---@class nn.Module
---@field training boolean
---@overload fun(...): torch.Tensor
local Module = {}

nn = {Module = Module, functional = F, init = {}, utils = {}}
torch.nn, torch.utils = nn, {data = {}}

---@class nn.AdaptiveAvgPool1d: nn.Module
---@param output_size any|table
---@param keywords? {output_size?: any}
---@return nn.AdaptiveAvgPool1d
function nn.AdaptiveAvgPool1d(output_size, keywords) end

---@class nn.AdaptiveAvgPool2d: nn.Module
---@param output_size any|table
---@param keywords? {output_size?: any}
---@return nn.AdaptiveAvgPool2d
function nn.AdaptiveAvgPool2d(output_size, keywords) end

---@class nn.AvgPool1d: nn.Module
---@param kernel_size integer|integer[]|table
---@param stride? integer|integer[]|nil
---@param padding? integer|integer[]
---@param ceil_mode? boolean
---@param count_include_pad? boolean
---@param keywords? {kernel_size?: integer|integer[], stride?: integer|integer[]|nil, padding?: integer|integer[], ceil_mode?: boolean, count_include_pad?: boolean}
---@return nn.AvgPool1d
function nn.AvgPool1d(kernel_size, stride, padding, ceil_mode, count_include_pad, keywords) end

---@class nn.AvgPool2d: nn.Module
---@param kernel_size integer|integer[]|table
---@param stride? integer|integer[]|nil
---@param padding? integer|integer[]
---@param ceil_mode? boolean
---@param count_include_pad? boolean
---@param divisor_override? integer|nil
---@param keywords? {kernel_size?: integer|integer[], stride?: integer|integer[]|nil, padding?: integer|integer[], ceil_mode?: boolean, count_include_pad?: boolean, divisor_override?: integer|nil}
---@return nn.AvgPool2d
function nn.AvgPool2d(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, keywords) end

---@class nn.BCELoss: nn.Module
---@param weight? any
---@param keywords? {weight?: any, reduction?: string}
---@return nn.BCELoss
function nn.BCELoss(weight, keywords) end

---@class nn.BCEWithLogitsLoss: nn.Module
---@param weight? any
---@param keywords? {weight?: any, reduction?: string, pos_weight?: any}
---@return nn.BCEWithLogitsLoss
function nn.BCEWithLogitsLoss(weight, keywords) end

---@class nn.BatchNorm1d: nn.Module
---@param num_features integer|table
---@param eps? number
---@param momentum? number|nil
---@param affine? boolean
---@param track_running_stats? boolean
---@param device? any
---@param dtype? any
---@param keywords? {num_features?: integer, eps?: number, momentum?: number|nil, affine?: boolean, track_running_stats?: boolean, device?: any, dtype?: any, bias?: boolean}
---@return nn.BatchNorm1d
function nn.BatchNorm1d(num_features, eps, momentum, affine, track_running_stats, device, dtype, keywords) end

---@class nn.BatchNorm2d: nn.Module
---@param num_features integer|table
---@param eps? number
---@param momentum? number|nil
---@param affine? boolean
---@param track_running_stats? boolean
---@param device? any
---@param dtype? any
---@param keywords? {num_features?: integer, eps?: number, momentum?: number|nil, affine?: boolean, track_running_stats?: boolean, device?: any, dtype?: any, bias?: boolean}
---@return nn.BatchNorm2d
function nn.BatchNorm2d(num_features, eps, momentum, affine, track_running_stats, device, dtype, keywords) end

---@param sampler any|table
---@param batch_size? any
---@param drop_last? any
---@param keywords? {sampler?: any, batch_size?: any, drop_last?: any}
---@return any
function torch.utils.data.BatchSampler(sampler, batch_size, drop_last, keywords) end

---@class nn.Bilinear: nn.Module
---@param in1_features integer|table
---@param in2_features? integer
---@param out_features? integer
---@param bias? boolean
---@param device? any
---@param dtype? any
---@param keywords? {in1_features?: integer, in2_features?: integer, out_features?: integer, bias?: boolean, device?: any, dtype?: any}
---@return nn.Bilinear
function nn.Bilinear(in1_features, in2_features, out_features, bias, device, dtype, keywords) end

---@class nn.CELU: nn.Module
---@param alpha? number
---@param inplace? boolean
---@param keywords? {alpha?: number, inplace?: boolean}
---@return nn.CELU
function nn.CELU(alpha, inplace, keywords) end

---@class nn.CircularPad1d: nn.Module
---@param padding integer|integer[]|table
---@param keywords? {padding?: integer|integer[]}
---@return nn.CircularPad1d
function nn.CircularPad1d(padding, keywords) end

---@class nn.CircularPad2d: nn.Module
---@param padding integer|integer[]|table
---@param keywords? {padding?: integer|integer[]}
---@return nn.CircularPad2d
function nn.CircularPad2d(padding, keywords) end

---@class nn.ConstantPad1d: nn.Module
---@param padding integer|integer[]|table
---@param value? number
---@param keywords? {padding?: integer|integer[], value?: number}
---@return nn.ConstantPad1d
function nn.ConstantPad1d(padding, value, keywords) end

---@class nn.ConstantPad2d: nn.Module
---@param padding integer|integer[]|table
---@param value? number
---@param keywords? {padding?: integer|integer[], value?: number}
---@return nn.ConstantPad2d
function nn.ConstantPad2d(padding, value, keywords) end

---@class nn.Conv1d: nn.Module
---@param in_channels integer|table
---@param out_channels? integer
---@param kernel_size? integer|integer[]
---@param stride? integer|integer[]
---@param padding? any
---@param dilation? integer|integer[]
---@param groups? integer
---@param bias? boolean
---@param padding_mode? string
---@param device? any
---@param dtype? any
---@param keywords? {in_channels?: integer, out_channels?: integer, kernel_size?: integer|integer[], stride?: integer|integer[], padding?: any, dilation?: integer|integer[], groups?: integer, bias?: boolean, padding_mode?: string, device?: any, dtype?: any}
---@return nn.Conv1d
function nn.Conv1d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype, keywords) end

---@class nn.Conv2d: nn.Module
---@param in_channels integer|table
---@param out_channels? integer
---@param kernel_size? integer|integer[]
---@param stride? integer|integer[]
---@param padding? any
---@param dilation? integer|integer[]
---@param groups? integer
---@param bias? boolean
---@param padding_mode? string
---@param device? any
---@param dtype? any
---@param keywords? {in_channels?: integer, out_channels?: integer, kernel_size?: integer|integer[], stride?: integer|integer[], padding?: any, dilation?: integer|integer[], groups?: integer, bias?: boolean, padding_mode?: string, device?: any, dtype?: any}
---@return nn.Conv2d
function nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype, keywords) end

---@class nn.CosineEmbeddingLoss: nn.Module
---@param margin? number
---@param keywords? {margin?: number, reduction?: string}
---@return nn.CosineEmbeddingLoss
function nn.CosineEmbeddingLoss(margin, keywords) end

---@class nn.CosineSimilarity: nn.Module
---@param dim? integer
---@param eps? number
---@param keywords? {dim?: integer, eps?: number}
---@return nn.CosineSimilarity
function nn.CosineSimilarity(dim, eps, keywords) end

---@class nn.CrossEntropyLoss: nn.Module
---@param weight? any
---@param keywords? {weight?: any, ignore_index?: integer, reduction?: string, label_smoothing?: number}
---@return nn.CrossEntropyLoss
function nn.CrossEntropyLoss(weight, keywords) end

---@param dataset any|table
---@param batch_size? any
---@param shuffle? any
---@param sampler? any
---@param batch_sampler? any
---@param num_workers? integer
---@param collate_fn? function|nil
---@param pin_memory? boolean
---@param drop_last? boolean
---@param timeout? number
---@param worker_init_fn? any
---@param multiprocessing_context? any
---@param generator? any
---@param keywords? {dataset?: any, batch_size?: any, shuffle?: any, sampler?: any, batch_sampler?: any, num_workers?: integer, collate_fn?: function|nil, pin_memory?: boolean, drop_last?: boolean, timeout?: number, worker_init_fn?: any, multiprocessing_context?: any, generator?: any, prefetch_factor?: integer|nil, persistent_workers?: boolean, pin_memory_device?: string, in_order?: boolean}
---@return any
function torch.utils.data.DataLoader(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory, drop_last, timeout, worker_init_fn, multiprocessing_context, generator, keywords) end

---@class nn.Dropout: nn.Module
---@param p? number
---@param inplace? boolean
---@param keywords? {p?: number, inplace?: boolean}
---@return nn.Dropout
function nn.Dropout(p, inplace, keywords) end

---@class nn.Dropout1d: nn.Module
---@param p? number
---@param inplace? boolean
---@param keywords? {p?: number, inplace?: boolean}
---@return nn.Dropout1d
function nn.Dropout1d(p, inplace, keywords) end

---@class nn.Dropout2d: nn.Module
---@param p? number
---@param inplace? boolean
---@param keywords? {p?: number, inplace?: boolean}
---@return nn.Dropout2d
function nn.Dropout2d(p, inplace, keywords) end

---@class nn.ELU: nn.Module
---@param alpha? number
---@param inplace? boolean
---@param keywords? {alpha?: number, inplace?: boolean}
---@return nn.ELU
function nn.ELU(alpha, inplace, keywords) end

---@class nn.Embedding: nn.Module
---@param num_embeddings integer|table
---@param embedding_dim? integer
---@param padding_idx? integer|nil
---@param max_norm? number|nil
---@param norm_type? number
---@param scale_grad_by_freq? boolean
---@param sparse? boolean
---@param _weight? any
---@param _freeze? boolean
---@param device? any
---@param dtype? any
---@param keywords? {num_embeddings?: integer, embedding_dim?: integer, padding_idx?: integer|nil, max_norm?: number|nil, norm_type?: number, scale_grad_by_freq?: boolean, sparse?: boolean, _weight?: any, _freeze?: boolean, device?: any, dtype?: any}
---@return nn.Embedding
function nn.Embedding(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight, _freeze, device, dtype, keywords) end

---@class nn.Flatten: nn.Module
---@param start_dim? integer
---@param end_dim? integer
---@param keywords? {start_dim?: integer, end_dim?: integer}
---@return nn.Flatten
function nn.Flatten(start_dim, end_dim, keywords) end

---@class nn.GELU: nn.Module
---@param approximate? string
---@param keywords? {approximate?: string}
---@return nn.GELU
function nn.GELU(approximate, keywords) end

---@class nn.GLU: nn.Module
---@param dim? integer
---@param keywords? {dim?: integer}
---@return nn.GLU
function nn.GLU(dim, keywords) end

---@class nn.GaussianNLLLoss: nn.Module
---@param keywords? {full?: boolean, eps?: number, reduction?: string}
---@return nn.GaussianNLLLoss
function nn.GaussianNLLLoss(keywords) end

---@class nn.GroupNorm: nn.Module
---@param num_groups integer|table
---@param num_channels? integer
---@param eps? number
---@param affine? boolean
---@param device? any
---@param dtype? any
---@param keywords? {num_groups?: integer, num_channels?: integer, eps?: number, affine?: boolean, device?: any, dtype?: any, bias?: boolean}
---@return nn.GroupNorm
function nn.GroupNorm(num_groups, num_channels, eps, affine, device, dtype, keywords) end

---@class nn.Hardshrink: nn.Module
---@param lambd? number
---@param keywords? {lambd?: number}
---@return nn.Hardshrink
function nn.Hardshrink(lambd, keywords) end

---@class nn.Hardsigmoid: nn.Module
---@param inplace? boolean
---@param keywords? {inplace?: boolean}
---@return nn.Hardsigmoid
function nn.Hardsigmoid(inplace, keywords) end

---@class nn.Hardswish: nn.Module
---@param inplace? boolean
---@param keywords? {inplace?: boolean}
---@return nn.Hardswish
function nn.Hardswish(inplace, keywords) end

---@class nn.Hardtanh: nn.Module
---@param min_val? number
---@param max_val? number
---@param inplace? boolean
---@param keywords? {min_val?: number, max_val?: number, inplace?: boolean}
---@return nn.Hardtanh
function nn.Hardtanh(min_val, max_val, inplace, keywords) end

---@class nn.HingeEmbeddingLoss: nn.Module
---@param keywords? {reduction?: string, margin?: number}
---@return nn.HingeEmbeddingLoss
function nn.HingeEmbeddingLoss(keywords) end

---@class nn.HuberLoss: nn.Module
---@param keywords? {reduction?: string, delta?: number}
---@return nn.HuberLoss
function nn.HuberLoss(keywords) end

---@class nn.KLDivLoss: nn.Module
---@param keywords? {reduction?: string, log_target?: boolean}
---@return nn.KLDivLoss
function nn.KLDivLoss(keywords) end

---@class nn.L1Loss: nn.Module
---@param keywords? {reduction?: string}
---@return nn.L1Loss
function nn.L1Loss(keywords) end

---@class nn.LayerNorm: nn.Module
---@param normalized_shape integer|integer[]|table
---@param eps? number
---@param elementwise_affine? boolean
---@param bias? boolean
---@param device? any
---@param dtype? any
---@param keywords? {normalized_shape?: integer|integer[], eps?: number, elementwise_affine?: boolean, bias?: boolean, device?: any, dtype?: any}
---@return nn.LayerNorm
function nn.LayerNorm(normalized_shape, eps, elementwise_affine, bias, device, dtype, keywords) end

---@class nn.LeakyReLU: nn.Module
---@param negative_slope? number
---@param inplace? boolean
---@param keywords? {negative_slope?: number, inplace?: boolean}
---@return nn.LeakyReLU
function nn.LeakyReLU(negative_slope, inplace, keywords) end

---@class nn.Linear: nn.Module
---@param in_features integer|table
---@param out_features? integer
---@param bias? boolean
---@param device? any
---@param dtype? any
---@param keywords? {in_features?: integer, out_features?: integer, bias?: boolean, device?: any, dtype?: any}
---@return nn.Linear
function nn.Linear(in_features, out_features, bias, device, dtype, keywords) end

---@class nn.LogSigmoid: nn.Module
---@return nn.LogSigmoid
function nn.LogSigmoid() end

---@class nn.LogSoftmax: nn.Module
---@param dim? integer|nil
---@param keywords? {dim?: integer|nil}
---@return nn.LogSoftmax
function nn.LogSoftmax(dim, keywords) end

---@class nn.MSELoss: nn.Module
---@param keywords? {reduction?: string}
---@return nn.MSELoss
function nn.MSELoss(keywords) end

---@class nn.MarginRankingLoss: nn.Module
---@param margin? number
---@param keywords? {margin?: number, reduction?: string}
---@return nn.MarginRankingLoss
function nn.MarginRankingLoss(margin, keywords) end

---@class nn.MaxPool1d: nn.Module
---@param kernel_size integer|integer[]|table
---@param stride? integer|integer[]|nil
---@param padding? integer|integer[]
---@param dilation? integer|integer[]
---@param return_indices? boolean
---@param ceil_mode? boolean
---@param keywords? {kernel_size?: integer|integer[], stride?: integer|integer[]|nil, padding?: integer|integer[], dilation?: integer|integer[], return_indices?: boolean, ceil_mode?: boolean}
---@return nn.MaxPool1d
function nn.MaxPool1d(kernel_size, stride, padding, dilation, return_indices, ceil_mode, keywords) end

---@class nn.MaxPool2d: nn.Module
---@param kernel_size integer|integer[]|table
---@param stride? integer|integer[]|nil
---@param padding? integer|integer[]
---@param dilation? integer|integer[]
---@param return_indices? boolean
---@param ceil_mode? boolean
---@param keywords? {kernel_size?: integer|integer[], stride?: integer|integer[]|nil, padding?: integer|integer[], dilation?: integer|integer[], return_indices?: boolean, ceil_mode?: boolean}
---@return nn.MaxPool2d
function nn.MaxPool2d(kernel_size, stride, padding, dilation, return_indices, ceil_mode, keywords) end

---@class nn.Mish: nn.Module
---@param inplace? boolean
---@param keywords? {inplace?: boolean}
---@return nn.Mish
function nn.Mish(inplace, keywords) end

---@param recurse? boolean
---@param keywords? {recurse?: boolean}
---@return any
function Module:buffers(recurse, keywords) end

---@param state_dict table|table
---@param strict? boolean
---@param assign? boolean
---@param keywords? {state_dict?: table, strict?: boolean, assign?: boolean}
---@return any
function Module:load_state_dict(state_dict, strict, assign, keywords) end

---@param prefix? string
---@param recurse? boolean
---@param remove_duplicate? boolean
---@param keywords? {prefix?: string, recurse?: boolean, remove_duplicate?: boolean}
---@return any
function Module:named_buffers(prefix, recurse, remove_duplicate, keywords) end

---@param memo? any
---@param prefix? string
---@param remove_duplicate? boolean
---@param keywords? {memo?: any, prefix?: string, remove_duplicate?: boolean}
---@return any
function Module:named_modules(memo, prefix, remove_duplicate, keywords) end

---@param prefix? string
---@param recurse? boolean
---@param remove_duplicate? boolean
---@param keywords? {prefix?: string, recurse?: boolean, remove_duplicate?: boolean}
---@return any
function Module:named_parameters(prefix, recurse, remove_duplicate, keywords) end

---@param recurse? boolean
---@param keywords? {recurse?: boolean}
---@return any
function Module:parameters(recurse, keywords) end

---@param name string|table
---@param tensor? any|nil
---@param persistent? boolean
---@param keywords? {name?: string, tensor?: any|nil, persistent?: boolean}
---@return any
function Module:register_buffer(name, tensor, persistent, keywords) end

---@param hook function|table
---@param keywords? {hook?: function, prepend?: boolean, with_kwargs?: boolean, always_call?: boolean}
---@return any
function Module:register_forward_hook(hook, keywords) end

---@param hook function|table
---@param keywords? {hook?: function, prepend?: boolean, with_kwargs?: boolean}
---@return any
function Module:register_forward_pre_hook(hook, keywords) end

---@param hook function|table
---@param keywords? {hook?: function, prepend?: boolean}
---@return any
function Module:register_full_backward_hook(hook, keywords) end

---@param hook function|table
---@param keywords? {hook?: function, prepend?: boolean}
---@return any
function Module:register_full_backward_pre_hook(hook, keywords) end

---@param keywords? {destination?: any, prefix?: string, keep_vars?: boolean}
---@return any
function Module:state_dict(keywords) end

---@param device? any
---@param dtype? any
---@param non_blocking? boolean
---@param keywords? {device?: any, dtype?: any, non_blocking?: boolean}
---@return any
function Module:to(device, dtype, non_blocking, keywords) end

---@param mode? any
---@param keywords? {mode?: any}
---@return any
function Module:train(mode, keywords) end

---@param set_to_none? boolean
---@param keywords? {set_to_none?: boolean}
---@return any
function Module:zero_grad(set_to_none, keywords) end

---@class nn.MultiLabelSoftMarginLoss: nn.Module
---@param weight? any
---@param keywords? {weight?: any, reduction?: string}
---@return nn.MultiLabelSoftMarginLoss
function nn.MultiLabelSoftMarginLoss(weight, keywords) end

---@class nn.NLLLoss: nn.Module
---@param weight? any
---@param keywords? {weight?: any, ignore_index?: integer, reduction?: string}
---@return nn.NLLLoss
function nn.NLLLoss(weight, keywords) end

---@class nn.PReLU: nn.Module
---@param num_parameters? integer
---@param init? number
---@param device? any
---@param dtype? any
---@param keywords? {num_parameters?: integer, init?: number, device?: any, dtype?: any}
---@return nn.PReLU
function nn.PReLU(num_parameters, init, device, dtype, keywords) end

---@class nn.PairwiseDistance: nn.Module
---@param p? number
---@param eps? number
---@param keepdim? boolean
---@param keywords? {p?: number, eps?: number, keepdim?: boolean}
---@return nn.PairwiseDistance
function nn.PairwiseDistance(p, eps, keepdim, keywords) end

---@class nn.PoissonNLLLoss: nn.Module
---@param keywords? {reduction?: string, log_input?: boolean, full?: boolean, eps?: number}
---@return nn.PoissonNLLLoss
function nn.PoissonNLLLoss(keywords) end

---@class nn.RMSNorm: nn.Module
---@param normalized_shape integer|integer[]|table
---@param eps? number|nil
---@param elementwise_affine? boolean
---@param device? any
---@param dtype? any
---@param keywords? {normalized_shape?: integer|integer[], eps?: number|nil, elementwise_affine?: boolean, device?: any, dtype?: any}
---@return nn.RMSNorm
function nn.RMSNorm(normalized_shape, eps, elementwise_affine, device, dtype, keywords) end

---@param data_source any|table
---@param replacement? boolean
---@param num_samples? any
---@param generator? any
---@param keywords? {data_source?: any, replacement?: boolean, num_samples?: any, generator?: any}
---@return any
function torch.utils.data.RandomSampler(data_source, replacement, num_samples, generator, keywords) end

---@class nn.ReLU: nn.Module
---@param inplace? boolean
---@param keywords? {inplace?: boolean}
---@return nn.ReLU
function nn.ReLU(inplace, keywords) end

---@class nn.ReLU6: nn.Module
---@param inplace? boolean
---@param keywords? {inplace?: boolean}
---@return nn.ReLU6
function nn.ReLU6(inplace, keywords) end

---@class nn.ReflectionPad1d: nn.Module
---@param padding integer|integer[]|table
---@param keywords? {padding?: integer|integer[]}
---@return nn.ReflectionPad1d
function nn.ReflectionPad1d(padding, keywords) end

---@class nn.ReflectionPad2d: nn.Module
---@param padding integer|integer[]|table
---@param keywords? {padding?: integer|integer[]}
---@return nn.ReflectionPad2d
function nn.ReflectionPad2d(padding, keywords) end

---@class nn.ReplicationPad1d: nn.Module
---@param padding integer|integer[]|table
---@param keywords? {padding?: integer|integer[]}
---@return nn.ReplicationPad1d
function nn.ReplicationPad1d(padding, keywords) end

---@class nn.ReplicationPad2d: nn.Module
---@param padding integer|integer[]|table
---@param keywords? {padding?: integer|integer[]}
---@return nn.ReplicationPad2d
function nn.ReplicationPad2d(padding, keywords) end

---@class nn.SELU: nn.Module
---@param inplace? boolean
---@param keywords? {inplace?: boolean}
---@return nn.SELU
function nn.SELU(inplace, keywords) end

---@class nn.SiLU: nn.Module
---@param inplace? boolean
---@param keywords? {inplace?: boolean}
---@return nn.SiLU
function nn.SiLU(inplace, keywords) end

---@class nn.Sigmoid: nn.Module
---@return nn.Sigmoid
function nn.Sigmoid() end

---@class nn.SmoothL1Loss: nn.Module
---@param keywords? {reduction?: string, beta?: number}
---@return nn.SmoothL1Loss
function nn.SmoothL1Loss(keywords) end

---@class nn.SoftMarginLoss: nn.Module
---@param keywords? {reduction?: string}
---@return nn.SoftMarginLoss
function nn.SoftMarginLoss(keywords) end

---@class nn.Softmax: nn.Module
---@param dim? integer|nil
---@param keywords? {dim?: integer|nil}
---@return nn.Softmax
function nn.Softmax(dim, keywords) end

---@class nn.Softmin: nn.Module
---@param dim? integer|nil
---@param keywords? {dim?: integer|nil}
---@return nn.Softmin
function nn.Softmin(dim, keywords) end

---@class nn.Softplus: nn.Module
---@param beta? number
---@param threshold? number
---@param keywords? {beta?: number, threshold?: number}
---@return nn.Softplus
function nn.Softplus(beta, threshold, keywords) end

---@class nn.Softshrink: nn.Module
---@param lambd? number
---@param keywords? {lambd?: number}
---@return nn.Softshrink
function nn.Softshrink(lambd, keywords) end

---@class nn.Softsign: nn.Module
---@return nn.Softsign
function nn.Softsign() end

---@param indices any|table
---@param generator? any
---@param keywords? {indices?: any, generator?: any}
---@return any
function torch.utils.data.SubsetRandomSampler(indices, generator, keywords) end

---@class nn.Tanh: nn.Module
---@return nn.Tanh
function nn.Tanh() end

---@class nn.Tanhshrink: nn.Module
---@return nn.Tanhshrink
function nn.Tanhshrink() end

---@class nn.Threshold: nn.Module
---@param threshold number|table
---@param value? number
---@param inplace? boolean
---@param keywords? {threshold?: number, value?: number, inplace?: boolean}
---@return nn.Threshold
function nn.Threshold(threshold, value, inplace, keywords) end

---@class nn.TripletMarginLoss: nn.Module
---@param margin? number
---@param p? number
---@param eps? number
---@param swap? boolean
---@param keywords? {margin?: number, p?: number, eps?: number, swap?: boolean, reduction?: string}
---@return nn.TripletMarginLoss
function nn.TripletMarginLoss(margin, p, eps, swap, keywords) end

---@class nn.Unflatten: nn.Module
---@param dim integer|table
---@param unflattened_size? any
---@param keywords? {dim?: integer, unflattened_size?: any}
---@return nn.Unflatten
function nn.Unflatten(dim, unflattened_size, keywords) end

---@param weights any|table
---@param num_samples? any
---@param replacement? boolean
---@param generator? any
---@param keywords? {weights?: any, num_samples?: any, replacement?: boolean, generator?: any}
---@return any
function torch.utils.data.WeightedRandomSampler(weights, num_samples, replacement, generator, keywords) end

---@class nn.ZeroPad1d: nn.Module
---@param padding integer|integer[]|table
---@param keywords? {padding?: integer|integer[]}
---@return nn.ZeroPad1d
function nn.ZeroPad1d(padding, keywords) end

---@class nn.ZeroPad2d: nn.Module
---@param padding integer|integer[]|table
---@param keywords? {padding?: integer|integer[]}
---@return nn.ZeroPad2d
function nn.ZeroPad2d(padding, keywords) end

---@param input torch.Tensor|table
---@param output_size? integer|integer[]
---@param keywords? {input?: torch.Tensor, output_size?: integer|integer[]}
---@return torch.Tensor
function F.adaptive_avg_pool1d(input, output_size, keywords) end

---@param input torch.Tensor|table
---@param kernel_size? integer|integer[]
---@param stride? integer|integer[]|nil
---@param padding? integer|integer[]
---@param ceil_mode? boolean
---@param count_include_pad? boolean
---@param keywords? {input?: torch.Tensor, kernel_size?: integer|integer[], stride?: integer|integer[]|nil, padding?: integer|integer[], ceil_mode?: boolean, count_include_pad?: boolean}
---@return torch.Tensor
function F.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, keywords) end

---@param input1 torch.Tensor|table
---@param input2? torch.Tensor
---@param weight? torch.Tensor
---@param bias? any
---@param keywords? {input1?: torch.Tensor, input2?: torch.Tensor, weight?: torch.Tensor, bias?: any}
---@return torch.Tensor
function F.bilinear(input1, input2, weight, bias, keywords) end

---@param nonlinearity string|table
---@param param? any
---@param keywords? {nonlinearity?: string, param?: any}
---@return torch.Tensor
function nn.init.calculate_gain(nonlinearity, param, keywords) end

---@param input torch.Tensor|table
---@param alpha? number
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, alpha?: number, inplace?: boolean}
---@return torch.Tensor
function F.celu(input, alpha, inplace, keywords) end

---@param parameters any|table
---@param max_norm? number
---@param norm_type? number
---@param error_if_nonfinite? boolean
---@param foreach? any
---@param keywords? {parameters?: any, max_norm?: number, norm_type?: number, error_if_nonfinite?: boolean, foreach?: any}
---@return any
function nn.utils.clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach, keywords) end

---@param parameters any|table
---@param clip_value? number
---@param foreach? any
---@param keywords? {parameters?: any, clip_value?: number, foreach?: any}
---@return any
function nn.utils.clip_grad_value_(parameters, clip_value, foreach, keywords) end

---@param tensor torch.Tensor|table
---@param val? number
---@param keywords? {tensor?: torch.Tensor, val?: number}
---@return torch.Tensor
function nn.init.constant_(tensor, val, keywords) end

---@param input torch.Tensor|table
---@param weight? any
---@param bias? any
---@param stride? any
---@param padding? any
---@param dilation? any
---@param groups? any
---@param keywords? {input?: torch.Tensor, weight?: any, bias?: any, stride?: any, padding?: any, dilation?: any, groups?: any}
---@return torch.Tensor
function F.conv1d(input, weight, bias, stride, padding, dilation, groups, keywords) end

---@param input torch.Tensor|table
---@param weight? any
---@param bias? any
---@param stride? any
---@param padding? any
---@param dilation? any
---@param groups? any
---@param keywords? {input?: torch.Tensor, weight?: any, bias?: any, stride?: any, padding?: any, dilation?: any, groups?: any}
---@return torch.Tensor
function F.conv2d(input, weight, bias, stride, padding, dilation, groups, keywords) end

---@param input1 torch.Tensor|table
---@param input2? torch.Tensor
---@param target? torch.Tensor
---@param margin? number
---@param keywords? {input1?: torch.Tensor, input2?: torch.Tensor, target?: torch.Tensor, margin?: number, reduction?: string}
---@return torch.Tensor
function F.cosine_embedding_loss(input1, input2, target, margin, keywords) end

---@param tensor torch.Tensor|table
---@param groups? integer
---@param keywords? {tensor?: torch.Tensor, groups?: integer}
---@return torch.Tensor
function nn.init.dirac_(tensor, groups, keywords) end

---@param input torch.Tensor|table
---@param alpha? number
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, alpha?: number, inplace?: boolean}
---@return torch.Tensor
function F.elu(input, alpha, inplace, keywords) end

---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param var? any
---@param full? boolean
---@param eps? number
---@param reduction? string
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, var?: any, full?: boolean, eps?: number, reduction?: string}
---@return torch.Tensor
function F.gaussian_nll_loss(input, target, var, full, eps, reduction, keywords) end

---@param tensors any|table
---@param norm_type? number
---@param error_if_nonfinite? boolean
---@param keywords? {tensors?: any, norm_type?: number, error_if_nonfinite?: boolean}
---@return any
function nn.utils.get_total_norm(tensors, norm_type, error_if_nonfinite, keywords) end

---@param logits torch.Tensor|table
---@param tau? number
---@param hard? boolean
---@param eps? number
---@param dim? integer
---@param keywords? {logits?: torch.Tensor, tau?: number, hard?: boolean, eps?: number, dim?: integer}
---@return torch.Tensor
function F.gumbel_softmax(logits, tau, hard, eps, dim, keywords) end

---@param input torch.Tensor|table
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, inplace?: boolean}
---@return torch.Tensor
function F.hardsigmoid(input, inplace, keywords) end

---@param input torch.Tensor|table
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, inplace?: boolean}
---@return torch.Tensor
function F.hardswish(input, inplace, keywords) end

---@param input torch.Tensor|table
---@param min_val? number
---@param max_val? number
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, min_val?: number, max_val?: number, inplace?: boolean}
---@return torch.Tensor
function F.hardtanh(input, min_val, max_val, inplace, keywords) end

---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param margin? number
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, margin?: number, reduction?: string}
---@return torch.Tensor
function F.hinge_embedding_loss(input, target, margin, keywords) end

---@param input torch.Tensor|table
---@param negative_slope? number
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, negative_slope?: number, inplace?: boolean}
---@return torch.Tensor
function F.leaky_relu(input, negative_slope, inplace, keywords) end

---@param input torch.Tensor|table
---@param dim? integer|nil
---@param dtype? any
---@param keywords? {input?: torch.Tensor, dim?: integer|nil, dtype?: any}
---@return torch.Tensor
function F.log_softmax(input, dim, dtype, keywords) end

---@param input1 torch.Tensor|table
---@param input2? torch.Tensor
---@param target? torch.Tensor
---@param margin? number
---@param keywords? {input1?: torch.Tensor, input2?: torch.Tensor, target?: torch.Tensor, margin?: number, reduction?: string}
---@return torch.Tensor
function F.margin_ranking_loss(input1, input2, target, margin, keywords) end

---@param input torch.Tensor|table
---@param kernel_size? integer|integer[]
---@param stride? integer|integer[]|nil
---@param padding? integer|integer[]
---@param dilation? integer|integer[]
---@param ceil_mode? boolean
---@param return_indices? boolean
---@param keywords? {input?: torch.Tensor, kernel_size?: integer|integer[], stride?: integer|integer[]|nil, padding?: integer|integer[], dilation?: integer|integer[], ceil_mode?: boolean, return_indices?: boolean}
---@return torch.Tensor
function F.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, keywords) end

---@param input torch.Tensor|table
---@param kernel_size? any
---@param stride? any
---@param padding? any
---@param dilation? any
---@param ceil_mode? boolean
---@param return_indices? boolean
---@param keywords? {input?: torch.Tensor, kernel_size?: any, stride?: any, padding?: any, dilation?: any, ceil_mode?: boolean, return_indices?: boolean}
---@return torch.Tensor
function F.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, keywords) end

---@param input torch.Tensor|table
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, inplace?: boolean}
---@return torch.Tensor
function F.mish(input, inplace, keywords) end

---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param weight? any
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, weight?: any, reduction?: string}
---@return torch.Tensor
function F.multilabel_soft_margin_loss(input, target, weight, keywords) end

---@param tensor torch.Tensor|table
---@param mean? number
---@param std? number
---@param generator? any
---@param keywords? {tensor?: torch.Tensor, mean?: number, std?: number, generator?: any}
---@return torch.Tensor
function nn.init.normal_(tensor, mean, std, generator, keywords) end

---@param tensor torch.Tensor|table
---@param gain? number
---@param generator? any
---@param keywords? {tensor?: torch.Tensor, gain?: number, generator?: any}
---@return torch.Tensor
function nn.init.orthogonal_(tensor, gain, generator, keywords) end

---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param log_input? boolean
---@param full? boolean
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, log_input?: boolean, full?: boolean, eps?: number, reduction?: string}
---@return torch.Tensor
function F.poisson_nll_loss(input, target, log_input, full, keywords) end

---@param input torch.Tensor|table
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, inplace?: boolean}
---@return torch.Tensor
function F.relu6(input, inplace, keywords) end

---@param input torch.Tensor|table
---@param keywords? {input?: torch.Tensor}
---@return torch.Tensor
function F.relu_(input, keywords) end

---@param input torch.Tensor|table
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, inplace?: boolean}
---@return torch.Tensor
function F.selu(input, inplace, keywords) end

---@param input torch.Tensor|table
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, inplace?: boolean}
---@return torch.Tensor
function F.silu(input, inplace, keywords) end

---@param input torch.Tensor|table
---@param target? torch.Tensor
---@param keywords? {input?: torch.Tensor, target?: torch.Tensor, reduction?: string}
---@return torch.Tensor
function F.soft_margin_loss(input, target, keywords) end

---@param input torch.Tensor|table
---@param dim? integer|nil
---@param dtype? any
---@param keywords? {input?: torch.Tensor, dim?: integer|nil, dtype?: any}
---@return torch.Tensor
function F.softmax(input, dim, dtype, keywords) end

---@param input torch.Tensor|table
---@param dim? integer|nil
---@param dtype? any
---@param keywords? {input?: torch.Tensor, dim?: integer|nil, dtype?: any}
---@return torch.Tensor
function F.softmin(input, dim, dtype, keywords) end

---@param tensor torch.Tensor|table
---@param sparsity? number
---@param std? number
---@param generator? any
---@param keywords? {tensor?: torch.Tensor, sparsity?: number, std?: number, generator?: any}
---@return torch.Tensor
function nn.init.sparse_(tensor, sparsity, std, generator, keywords) end

---@param input torch.Tensor|table
---@param threshold? number
---@param value? number
---@param inplace? boolean
---@param keywords? {input?: torch.Tensor, threshold?: number, value?: number, inplace?: boolean}
---@return torch.Tensor
function F.threshold(input, threshold, value, inplace, keywords) end

---@param anchor torch.Tensor|table
---@param positive? torch.Tensor
---@param negative? torch.Tensor
---@param margin? number
---@param p? number
---@param eps? number
---@param swap? boolean
---@param keywords? {anchor?: torch.Tensor, positive?: torch.Tensor, negative?: torch.Tensor, margin?: number, p?: number, eps?: number, swap?: boolean, reduction?: string}
---@return torch.Tensor
function F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, keywords) end

---@param tensor torch.Tensor|table
---@param mean? number
---@param std? number
---@param a? number
---@param b? number
---@param generator? any
---@param keywords? {tensor?: torch.Tensor, mean?: number, std?: number, a?: number, b?: number, generator?: any}
---@return torch.Tensor
function nn.init.trunc_normal_(tensor, mean, std, a, b, generator, keywords) end

---@param tensor torch.Tensor|table
---@param a? number
---@param b? number
---@param generator? any
---@param keywords? {tensor?: torch.Tensor, a?: number, b?: number, generator?: any}
---@return torch.Tensor
function nn.init.uniform_(tensor, a, b, generator, keywords) end

